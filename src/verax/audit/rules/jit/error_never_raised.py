"""An exception that traced code is expected to raise, and never does."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.queries.boundaries import repeated
from ...source.queries.nodes import position_in
from ...source.suppressed import Suppressed
from ...source.text import text_of
from ...source.values import leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node

# What the exception is about, by the operations that would raise it in NumPy or Python.
_RAISED_BY = {
    "ZeroDivisionError": ("/", "//", "%"),
    "FloatingPointError": ("/", "jax.numpy.log", "jax.numpy.sqrt", "jax.numpy.exp"),
    "OverflowError": ("**", "*", "jax.numpy.exp"),
    "ArithmeticError": ("/", "//", "%", "**", "*"),
    "IndexError": ("item",),
    "LinAlgError": (
        "jax.numpy.linalg.inv",
        "jax.numpy.linalg.solve",
        "jax.numpy.linalg.cholesky",
    ),
}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """`try` in traced code, with an `except` for what depends on values."""
    for fact in facts.events(Fact):
        region = repeated(fact.frame) if fact.kind == "try" else None
        if region is None:
            continue
        for handler in fact.data["handlers"]:
            name = _name(handler)
            culprit = _culprit(fact, _RAISED_BY.get(name, ()))
            if culprit is not None:
                yield RULE.finding(
                    fact.frame.place(handler),
                    current=f"`{_written(handler, name)}` waits for what traced values never "
                    "raise: this runs once, while tracing, when they have no values",
                    expected="what depends on values is chosen by values",
                    fix="Choose with `jnp.where` or `jax.lax.cond`, on a condition that says when "
                    "it goes wrong.",
                    evidence=(
                        Evidence("the operation on traced values", culprit.place),
                        Evidence(f"inside of `{region.kind}`", region.place),
                    ),
                    engine=Engine.SOURCE,
                )


def _name(handler: ast.ExceptHandler) -> str:
    return "" if handler.type is None else text_of(handler.type).rpartition(".")[2]


def _written(handler: ast.ExceptHandler, name: str) -> str:
    return f"suppress({name})" if isinstance(handler, Suppressed) else f"except {name}"


def _culprit(fact: Fact, operations: tuple[str, ...]) -> Node | None:
    """An operation on tracers in the body of a `try` that is meant by its `except`."""
    body: list[ast.stmt] = fact.data["body"]
    first, last = body[0].lineno, body[-1].end_lineno or 0
    values = [value for step, value in fact.frame.steps if first <= step.lineno <= last]
    for syntax, value in fact.frame.returns:
        if first <= fact.frame.place(syntax).line <= last:
            values.append(value)
    for value in values:
        for leaf in leaves(value):
            node = leaf.node
            at = position_in(fact.frame, node)
            line = at.lineno if at is not None else 0
            if leaf.traced and node.operation in operations and first <= line <= last:
                return node
    return None


RULE = Rule(
    code="JT107",
    name="error-never-raised",
    title="Exception that traced code never raises",
    family="jit",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`try` and `except` run while a function is traced. Tracers have no values: dividing by one that will
be zero, or indexing with one that will be out of range, raises nothing then, and the compiled
program raises nothing at all. It gives `inf`, `nan`, or the nearest element.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(total, count):
    try:
        return total / count
    except ZeroDivisionError:
        return jnp.zeros_like(total)

def inputs():
    return jnp.ones(3), jnp.float32(0.0)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(total, count):
    return jnp.where(count > 0, total / jnp.maximum(count, 1.0), 0.0)

def inputs():
    return jnp.ones(3), jnp.float32(0.0)
""",
    source=check_source,
)
