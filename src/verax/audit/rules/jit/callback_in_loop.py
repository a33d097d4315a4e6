"""Calls back to Python in every iteration of a loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Callbacks with results inside of loops. Those for printing are meant for debugging."""
    for step in facts.steps:
        if step.primitive not in ("pure_callback", "io_callback"):
            continue
        loops = [it for it in step.ancestors() if it.kind in ("scan", "while")]
        if not loops:
            continue
        length = loops[0].detail.length
        often = f"each of {length} iterations" if length else "each iteration"
        yield RULE.finding(
            facts.place(step),
            current=f"`{step.primitive}` leaves the device in {often} and waits for Python",
            expected="a loop stays on the device",
            fix="compute with jax.numpy inside of the loop, or call back once, after the loop, "
            "with what the loop has stacked",
        )


RULE = Rule(
    code="JT302",
    name="callback-in-loop",
    title="A loop calls back to Python",
    family="jit",
    severity=Severity.MINOR,
    warns=True,
    exact="the trace shows the callback inside of the loop",
    explanation="""\
A callback inside of a loop moves its arguments to the host, waits for Python, and moves the result
back, in every iteration. On an accelerator that is often slower than the loop in Python would be.

A warning: sometimes there is no other way. `jax.debug.print` and its kin are not reported.""",
    wrong="""\
import jax
import jax.numpy as jnp
import numpy as np


def entry(x):
    def step(x, _):
        x = jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        return 0.5 * x, None

    return jax.lax.scan(step, x, None, length=10)[0]


def inputs():
    return (jnp.array([3.0, 1.0, 2.0]),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(x):
    def step(x, _):
        return 0.5 * jnp.sort(x), None

    return jax.lax.scan(step, x, None, length=10)[0]


def inputs():
    return (jnp.array([3.0, 1.0, 2.0]),)
""",
    trace=check,
)
