"""A small number that is added where it changes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Finding, Severity
from ...source.edits import replaced
from ...source.values import Constant, Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts

_SPREADS = tuple(
    f"{owner}.{name}"
    for owner in ("jax.numpy", "numpy", "ndarray")
    for name in ("std", "var", "nanstd", "nanvar", "ptp")
)
_SMALL = 1e-2


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Deviations of values to which a small number was added."""
    for call in facts.calls(_SPREADS):
        added = _added(call)
        if added:
            name = call.name.rpartition(".")[2]
            yield RULE.finding(
                call.place,
                current=f"{added} is added to the values, which does not change their `{name}`",
                expected=f"what keeps a division from 0 is added to the `{name}`",
                fix=f"add {added} to the `{name}`",
                engine=Engine.SOURCE,
                edit=_after(call),
            )


def _added(call: Call) -> str:
    """The small number that the values of a call have more; empty if there is none."""
    values = call.args[0] if call.args else call.keywords.get("a")
    if not isinstance(values, Data) or values.node.operation not in ("+", "-"):
        return ""
    for operand in values.node.operands:
        number = operand.value if isinstance(operand, Constant) else None
        if isinstance(number, (int, float)) and 0 < abs(number) <= _SMALL:
            return repr(number)
    return ""


def _after(call: Call) -> Edit | None:
    """The edit that adds the number to the result, where it stands in the call's only argument."""
    match call.syntax:
        case ast.Call(func=function, args=[ast.BinOp(left, ast.Add(), ast.Constant() as number)]):
            if not call.syntax.keywords:
                return replaced(call.frame, call.syntax, "({}({}) + {})", function, left, number)
        case _:
            pass
    return None


RULE = Rule(
    code="DF208",
    name="shift-before-deviation",
    title="A small number is added inside of a deviation",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
A small number is added to a standard deviation so that nothing is divided by 0. Inside of the
call it has no effect: a deviation stays the same when all values move.
""",
    wrong="""\
import jax.numpy as jnp

def entry(fitness):
    return (fitness - jnp.mean(fitness)) / jnp.std(fitness + 1e-5)

def inputs():
    return (jnp.ones(4),)
""",
    right="""\
import jax.numpy as jnp

def entry(fitness):
    return (fitness - jnp.mean(fitness)) / (jnp.std(fitness) + 1e-5)

def inputs():
    return (jnp.ones(4),)
""",
    source=check_source,
)
