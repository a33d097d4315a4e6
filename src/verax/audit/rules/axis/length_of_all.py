"""Vectors that are divided by the length of all of them together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.arrays import array_in_words
from ...source.queries.numbers.lengths import divided_by_one_length
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Norms over all axes of vectors that are then compared with others."""
    for it in divided_by_one_length(facts):
        place, product = it.norm.place, it.product.place
        if place is None or product is None:
            continue
        yield RULE.finding(
            place,
            current=f"all of {array_in_words(facts, Data(it.norm.inputs[0]))} is divided by one "
            "norm, and each of its rows is compared with those of another array",
            expected="each row is divided by its own length",
            fix="give the norm `axis=-1` and `keepdims=True`",
            evidence=(Evidence("they are compared here", product),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX019",
    name="length-of-all",
    title="Vectors are divided by the length of all of them",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
The product of two vectors of length one is the cosine of the angle between them. `norm` without an
axis gives one number for a whole batch of vectors: divided by it, long vectors stay long, all are
the shorter the larger the batch is, and products say little of angles.

Reported where two arrays of vectors, each divided by such a norm, are multiplied.""",
    wrong="""\
import jax.numpy as jnp


def entry(x, y):
    first, second = x / jnp.linalg.norm(x), y / jnp.linalg.norm(y)
    return first @ second.T


def inputs():
    return jnp.ones((4, 3)), jnp.ones((5, 3))
""",
    right="""\
import jax.numpy as jnp


def unit(x):
    return x / jnp.linalg.norm(x, axis=-1, keepdims=True)


def entry(x, y):
    return unit(x) @ unit(y).T


def inputs():
    return jnp.ones((4, 3)), jnp.ones((5, 3))
""",
    source=check_source,
)
