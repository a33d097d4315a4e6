"""Python loops over time inside of a jitted function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops that were unrolled into a chain."""
    from ...trace.phrases import phrase
    from ...trace.unrolled import unrolled_loops

    for loop in unrolled_loops(facts):
        over, fix = "", "`jax.lax.fori_loop(0, n, body, carry)`"
        if loop.array is not None:
            name = phrase(facts, loop.array)
            over, fix = f" over {name}", f"`jax.lax.scan(body, carry, {name})`"
        yield RULE.finding(
            loop.place,
            current=f"the loop{over} is unrolled into {loop.turns} copies of its body "
            f"({loop.steps} operations), which all have to be compiled",
            expected="one copy of the body, however many turns there are",
            fix=f"{fix}, with what a turn hands to the next as the carry",
            evidence=(
                Evidence(f"{loop.chained} turns in a row work on the result of the one before"),
            ),
        )


RULE = Rule(
    code="SC302",
    name="unrolled-loop",
    title="A Python loop is unrolled where a scan would do",
    family="scan",
    severity=Severity.MINOR,
    explanation="""\
A Python loop inside of a jitted function runs while tracing, and leaves a copy of its body for each
turn. Compile time grows with the length of the sequence (often faster), and so does the program; a
new length compiles again. `jax.lax.scan` has one copy.

Reported for loops of 16 turns and more that carry something from turn to turn, and take successive
slices of one array or nothing but that carry. Loops over layers with parameters of their own are
not reported.""",
    wrong="""\
import jax
import jax.numpy as jnp


@jax.jit
def entry(start, forces):
    speed = start
    for t in range(forces.shape[0]):
        speed = 0.9 * speed + forces[t]
    return speed


def inputs():
    return jnp.zeros(3), jnp.ones((32, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


@jax.jit
def entry(start, forces):
    def push(speed, force):
        return 0.9 * speed + force, None

    speed, _ = jax.lax.scan(push, start, forces)
    return speed


def inputs():
    return jnp.zeros(3), jnp.ones((32, 3))
""",
    trace=check,
)
