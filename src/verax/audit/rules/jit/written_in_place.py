"""An assignment to an element of a JAX array."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Finding, Severity
from ...source.edits import replaced
from ...source.events import Mutation
from ...source.graph import Node
from ...source.operations import ARITHMETIC
from ...source.queries.indices import index_parts, is_whole
from ...source.queries.nodes import users_of
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
        fix="Assign the new array that the `at` property of the old one makes.",
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Assignments to items of what is certainly an array of JAX."""
    for change in facts.events(Mutation):
        target = change.target
        if change.how != "item" or not isinstance(target, Data) or _is_entry(change.syntax):
            continue
        is_array = target.is_array or _is_used_as_array(facts, change.syntax, target.node)
        if not is_array or not (target.traced or _is_made_by_jax(target.node)):
            continue
        yield RULE.finding(
            change.place,
            current=f"`{change.text}` is written to, an element of an array of JAX",
            expected="arrays of JAX never change; an update is a new array",
            fix=f"Assign what the `at` property of `{change.name}` makes to `{change.name}`.",
            engine=Engine.SOURCE,
            edit=_out_of_place(change),
        )


def _out_of_place(change: Mutation) -> Edit | None:
    """The edit of an assignment to an element of a name to one of the name."""
    for statement in ast.walk(change.frame.function or change.frame.module.syntax):
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(value=ast.Name() as array, slice=index) as target],
                value=value,
            ) if target is change.syntax:
                return replaced(
                    change.frame, statement, "{} = {}.at[{}].set({})", array, array, index, value
                )
            case _:
                pass
    return None


# What an operator gives is an array of JAX if one of its operands is.
_PASS_ON = ARITHMETIC | frozenset(
    "@ turn carry lane primal slice argument item ndarray.T join".split()
)


# They give lists of arrays, whose items may be set.
_LISTS = ("split", "meshgrid", "broadcast_arrays")


def _is_entry(syntax: ast.AST) -> bool:
    """Whether an entry of a dict is set, whatever the dict was made by."""
    parts = index_parts(syntax)
    return any(isinstance(it, ast.Constant) and isinstance(it.value, str) for it in parts)


def _is_used_as_array(facts: SourceFacts, syntax: ast.AST, node: Node) -> bool:
    """Whether something has several axes, or what arrays alone can do is done with it."""
    parts = index_parts(syntax)
    if len(parts) > 1 and any(isinstance(it, ast.Slice) or is_whole(it) for it in parts):
        return True
    if node in facts.machine.used_as_arrays:
        return True
    return any(it.operation.startswith("ndarray.") for it in users_of(facts).get(node, ()))


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
    exact="JAX raises while it traces the program",
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
