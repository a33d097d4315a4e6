"""An assignment to an element of a JAX array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Mutation
from ...source.graph import Node
from ...source.values import Data
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "written in place"."""
    failure = facts.failure
    if failure is None or failure.kind != "written in place":
        return
    text = failure.statement.text if failure.statement else ""
    yield RULE.finding(
        failure.place,
        current=f"`{text}` writes into an array",
        expected="arrays of JAX never change; an update is a new array",
        fix="Write `x = x.at[index].set(value)`, or `.add`, `.multiply`, `.min`, `.max`.",
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Assignments to items of what is certainly an array of JAX."""
    for change in facts.events(Mutation):
        target = change.target
        if change.how != "item" or not isinstance(target, Data) or not _is_jax_array(target):
            continue
        if isinstance(change.syntax, ast.Subscript) and _is_word(change.syntax.slice):
            continue  # A dict, whatever it was made by.
        yield RULE.finding(
            change.place,
            current=f"`{change.text}` is written to, an element of an array of JAX",
            expected="arrays of JAX never change; an update is a new array",
            fix=f"Write `{change.name} = {change.name}.at[index].set(value)`, or `.add`, "
            "`.multiply`, `.min`, `.max`.",
            engine=Engine.SOURCE,
        )


# What an operator gives is an array of JAX if one of its operands is.
_PASS_ON = frozenset(
    "turn carry lane primal slice argument + - * / // % ** @ item ndarray.T join".split()
)


# They give lists of arrays, whose items may be set.
_LISTS = ("split", "meshgrid", "broadcast_arrays")


def _is_word(syntax: ast.expr) -> bool:
    return isinstance(syntax, ast.Constant) and isinstance(syntax.value, str)


def _is_jax_array(value: Data) -> bool:
    return value.is_array and bool(value.traced or _is_made_by_jax(value.node))


def _is_made_by_jax(node: Node, depth: int = 0) -> bool:
    if node.operation.endswith(_LISTS):
        return False
    if node.operation.startswith(("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.", "at.")):
        return True
    if node.operation not in _PASS_ON or depth > 8:
        return False
    found = [_is_made_by_jax(it, depth + 1) for it in node.inputs]
    return all(found) and bool(found) if node.operation == "join" else any(found)


RULE = Rule(
    code="JT207",
    name="written-in-place",
    title="Array written in place",
    family="jit",
    severity=Severity.ERROR,
    explanation="""\
JAX arrays are immutable. `x.at[i].set(v)` gives a new array, which XLA updates in place where it
can.
""",
    wrong="""\
import jax.numpy as jnp

def entry(x):
    x[0] = 1.0
    return x

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax.numpy as jnp

def entry(x):
    return x.at[0].set(1.0)

def inputs():
    return (jnp.ones(3),)
""",
    trace=check,
    source=check_source,
)
