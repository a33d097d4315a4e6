"""An assignment to an element of a JAX array."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


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
)
