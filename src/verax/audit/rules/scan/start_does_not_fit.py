"""A loop that starts from an array which its body cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.queries.arrays import arrays_in_words, plain
from ...source.queries.loops.carries import begun_at
from ...source.queries.loops.clashing_starts import clashing_starts
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Starts of which the shapes that are known say that the first turn fails."""
    for loop, part, fact in clashing_starts(facts).values():
        arrays = arrays_in_words(facts, fact.data["operands"])
        yield RULE.finding(
            begun_at(loop, part) or loop.place,
            current=f"the carry of the {loop.kind} starts with a shape that does not fit where the "
            f"body uses it: {plain(fact.data['reason'])}" + (f"; {arrays}" if arrays else ""),
            expected="the first carry has the shape that the body makes the others of",
            fix="take the sizes of the start from what it is combined with",
            evidence=(
                Evidence("the shapes meet here", fact.place),
                Evidence("the loop is here", loop.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="SC205",
    name="start-does-not-fit",
    title="The first carry does not fit what the body does with it",
    family="scan",
    severity=Severity.ERROR,
    confidence=Confidence.LIKELY,
    explanation="""\
A loop starts from zeros, or from another array that is made for it, and already the first iteration
cannot combine them with what it computes: the start has the sizes of other axes. The operation that
fails is right then; what is to be mended is where the start is made.
""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(z, times):
    def step(state, t):
        z, total = state
        return (z * t, total + jnp.sum(z, axis=-1)), None

    return jax.lax.scan(step, (z, jnp.zeros(z.shape[-1])), times)[0]


def inputs():
    return jnp.ones((10, 3)), jnp.ones(5)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(z, times):
    def step(state, t):
        z, total = state
        return (z * t, total + jnp.sum(z, axis=-1)), None

    return jax.lax.scan(step, (z, jnp.zeros(z.shape[:-1])), times)[0]


def inputs():
    return jnp.ones((10, 3)), jnp.ones(5)
""",
    source=check_source,
)
