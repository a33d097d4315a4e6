"""A factor that comes into a value twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.nodes import nodes_apart
from ...source.queries.numbers.scaling import averaged_weights, scaled_twice
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Means over weights that sum to one, and coefficients that a helper has applied already."""
    for mean, weights in averaged_weights(facts):
        if mean.place is not None:
            yield RULE.finding(
                mean.place,
                current="the weights are divided by their sum, and a mean over the products "
                "divides by their number once more",
                expected="a sum over the products, or weights whose mean is one",
                fix="sum instead of taking the mean",
                evidence=(Evidence("the weights are made to sum to one here", weights.place),),
                engine=Engine.SOURCE,
            )
    for product, before, name in scaled_twice(facts):
        place, earlier = nodes_apart(facts, product, before)
        if product.syntax is not before.syntax and product.place is not None:
            place = product.place  # Who reads it there sees the factor.
        if place.line:
            yield RULE.finding(
                place,
                current=f"this is multiplied by `{name}`, which it has as a factor already",
                expected=f"`{name}` comes in once",
                fix="leave out one of the two products",
                evidence=(Evidence(f"the first product with `{name}`", earlier),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF116",
    name="scaled-twice",
    title="A factor comes in twice",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A helper returns a term with its coefficient, and the caller multiplies by the same coefficient; or
weights are divided by their sum, and the mean divides by their number again. The program trains
with another weight, or another learning rate, than the one that is written down.
""",
    wrong="""\
import jax.numpy as jnp

def entry(losses, priorities):
    weights = priorities / jnp.sum(priorities)
    return jnp.mean(weights * losses)

def inputs():
    return jnp.ones(4), jnp.ones(4)
""",
    right="""\
import jax.numpy as jnp

def entry(losses, priorities):
    weights = priorities / jnp.sum(priorities)
    return jnp.sum(weights * losses)

def inputs():
    return jnp.ones(4), jnp.ones(4)
""",
    source=check_source,
)
