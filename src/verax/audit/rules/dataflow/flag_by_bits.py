"""A flag that is kept as a number, and turned round bit by bit."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Finding, Severity
from ...source.edits import replaced
from ...source.queries.nodes import is_flag, nodes_by, users_of
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.program import Step

_INTEGERS = ("int", "uint")


def check(facts: Facts) -> Iterator[Finding]:
    """Bits of integers that were made from flags."""
    for step in facts.steps:
        if step.primitive != "not" or not facts.is_users(step):
            continue
        users = [it.primitive for _, it in facts.variation.made_from(step.outputs[0])]
        if _is_integer(str(step.outputs[0].dtype)) and _was_flag(step) and "and" not in users:
            yield _finding(facts, step)


def _finding(facts: Facts, step: Step) -> Finding:
    from ...trace.describe import name_of

    name, dtype = name_of(facts, step.inputs[0]), str(step.outputs[0].dtype)
    return RULE.finding(
        facts.place(step), current=_current(name, dtype), expected=_EXPECTED, fix=_FIX
    )


def _was_flag(step: Step) -> bool:
    made = step.inputs[0].producer
    is_cast = made is not None and made.primitive == "convert_element_type"
    return made is not None and is_cast and str(made.inputs[0].dtype) == "bool"


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    for node in nodes_by(facts, ("~x", "jax.numpy.invert", "jax.numpy.bitwise_not")):
        of = node.inputs[0] if node.inputs else None
        if of is None or node.place is None or not _is_integer(node.dtype or of.dtype or ""):
            continue
        masked = any(it.operation in _MASKING for it in users_of(facts).get(node, ()))
        if not masked and _is_cast(of) and is_flag(of):
            name = facts.name_of(Data(of))
            yield RULE.finding(
                node.place,
                current=_current(name, node.dtype or of.dtype or ""),
                expected=_EXPECTED,
                fix=_FIX,
                engine=Engine.SOURCE,
                edit=_from_one(node),
            )


def _from_one(node: Node) -> Edit | None:
    if not isinstance(node.syntax, ast.UnaryOp) or node.frame is None:
        return None
    return replaced(node.frame, node.syntax, "(1 - {})", node.syntax.operand)


_MASKING = frozenset(("&", "jax.numpy.bitwise_and"))


def _is_cast(node: Node) -> bool:
    return node.operation.startswith(("ndarray.", "jax.numpy."))


def _is_integer(dtype: str) -> bool:
    return dtype.startswith(_INTEGERS)


def _current(name: str, dtype: str) -> str:
    ones = "254 and 255" if dtype.startswith("uint8") else "-2 and -1"
    return f"`{name}` holds zeros and ones as {dtype}, of which `~` makes {ones}"


_EXPECTED = "ones where there were zeros, and zeros where there were ones"
_FIX = "negate the flag before it becomes a number, or subtract it from one"


RULE = Rule(
    code="DF209",
    name="flag-by-bits",
    title="A flag that is a number is turned round bit by bit",
    family="dataflow",
    severity=Severity.CRITICAL,
    exact="the trace shows the conversion of a flag and the operation on its bits",
    explanation="""\
`~` of a flag is its opposite. Of a number it turns all bits round: of 0 and 1 as integers it makes
-1 and -2. As a factor, or where numbers count as true, both of them are.

Reported for integers that were made from flags. Not reported where all bits but the last are masked
away afterwards.""",
    wrong="""\
import jax.numpy as jnp


def entry(rewards, done):
    ended = done.astype(jnp.int32)
    return rewards * ~ended


def inputs():
    return jnp.ones(3), jnp.array([True, False, False])
""",
    right="""\
import jax.numpy as jnp


def entry(rewards, done):
    ended = done.astype(jnp.int32)
    return rewards * (1 - ended) * ~done


def inputs():
    return jnp.ones(3), jnp.array([True, False, False])
""",
    trace=check,
    source=check_source,
)
