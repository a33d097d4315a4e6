"""Anything else that ends a trace."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule

# Kinds of failures that no other rule speaks about.
_KINDS = ("error", "leaked")


def check(facts: Facts) -> Iterator[Finding]:
    """A failure that no other rule explains."""
    failure = facts.failure
    if failure is None or failure.kind not in _KINDS:
        return
    text = failure.statement.text if failure.statement else failure.place.function
    operands = failure.operands_in_words()
    if failure.kind == "leaked":
        current = f"`{text}` uses an array of a trace that is over"
        fix = "Return the array from the traced function instead of storing it outside."
    else:
        current = f"`{text}` raises {failure.first_line}"
        fix = "Fix the exception above, then run the audit again."
    yield RULE.finding(
        failure.place,
        current=current + (f"; {operands}" if operands else ""),
        expected="the function can be traced on these inputs",
        fix=fix,
        evidence=failure.calls(),
    )


RULE = Rule(
    code="JT299",
    name="cannot-be-traced",
    title="The program raises while it is traced",
    family="jit",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
The function raised an exception on these inputs, so that only what comes before could be audited.
""",
    wrong="""\
import jax.numpy as jnp

def entry(params, x):
    return x @ params["weight"]

def inputs():
    return {"w": jnp.ones((3, 2))}, jnp.ones((4, 3))
""",
    right="""\
import jax.numpy as jnp

def entry(params, x):
    return x @ params["w"]

def inputs():
    return {"w": jnp.ones((3, 2))}, jnp.ones((4, 3))
""",
    trace=check,
)
