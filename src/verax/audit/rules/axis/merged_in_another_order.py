"""Axes that are merged in another order than the one in which they were taken apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.numbers.merged_axes import reordered
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Patterns of einops that put heads or patches together the other way round."""
    for it in reordered(facts):
        names, before = (f"({' '.join(group)})" for group in (it.names, it.before))
        place = it.at.place
        now, then = ("taken apart", "merged") if it.is_split else ("merged", "taken apart")
        yield RULE.finding(
            it.call.place,
            current=f"axes are {now} as `{names}` that were {then} as `{before}`: the elements of "
            "the result are in another order",
            expected=f"`{before}`, as they were before",
            fix=f"merge them in the order {before} in the pattern",
            evidence=(Evidence(f"{then} here", place),) if place is not None else (),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX015",
    name="merged-in-another-order",
    title="Axes are merged in another order than they were taken apart",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Heads that are taken apart as `(h d)` and merged as `(d h)` give an array of the same shape whose
features are interleaved. Weights from elsewhere do not fit then, and what keeps heads apart later
mixes them. Patches of an image that are merged as `(h w)` and taken apart as `(w h)` are transposed
in the same way.

Reported for patterns of einops with the same names, where a product or a layer lies in between; a
pattern that changes the order at once says so itself.""",
    wrong="""\
import jax
import jax.numpy as jnp
from einops import rearrange


def entry(x):
    heads = rearrange(x, "n (h d) -> h n d", h=2)
    weights = jax.nn.softmax(heads @ heads.mT, axis=-1)
    return rearrange(weights @ heads, "h n d -> n (d h)")


def inputs():
    return (jnp.ones((5, 6)),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(x):
    heads = jnp.swapaxes(x.reshape(5, 2, 3), 0, 1)
    weights = jax.nn.softmax(heads @ heads.mT, axis=-1)
    return jnp.swapaxes(weights @ heads, 0, 1).reshape(5, 6)


def inputs():
    return (jnp.ones((5, 6)),)
""",
    source=check_source,
)
