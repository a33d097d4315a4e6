"""A weighted mean of each example, divided by the weights of the whole batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.arrays import array_in_words
from ...source.queries.numbers.weighted_means import divided_by_all
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Quotients of a sum that keeps an axis and one over everything, with the same weights."""
    for it in divided_by_all(facts):
        place, total = it.quotient.place, it.total.place
        if place is None or total is None:
            continue
        weights = array_in_words(facts, Data(it.weights))
        yield RULE.finding(
            place,
            current=f"a sum with the weights {weights} that keeps their first axis is divided by "
            "the sum of all of them: each result shrinks with what the others have",
            expected="each sum is divided by the weights that went into it",
            fix="sum the weights over the same axes as the values, with `keepdims=True`",
            evidence=(Evidence("all weights are added up here", total),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX018",
    name="divided-by-all",
    title="A mean of each example is divided by the weights of all",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A masked mean is a sum over what is there, divided by how much that is. Where the sum goes over one
axis and keeps another, the count has to do the same. `mask.sum()` without an axis counts over all
examples: each mean comes out too small, by a factor that depends on the rest of the batch.

Left alone where the quotients are added up afterwards, which gives one mean over everything.""",
    wrong="""\
import jax.numpy as jnp


def entry(vectors, mask):
    total = jnp.sum(vectors * mask[:, :, None], axis=1)
    return total / jnp.maximum(mask.sum(), 1.0)


def inputs():
    return jnp.ones((4, 5, 3)), jnp.ones((4, 5))
""",
    right="""\
import jax.numpy as jnp


def entry(vectors, mask):
    total = jnp.sum(vectors * mask[:, :, None], axis=1)
    return total / jnp.maximum(mask.sum(axis=1, keepdims=True), 1.0)


def inputs():
    return jnp.ones((4, 5, 3)), jnp.ones((4, 5))
""",
    source=check_source,
)
