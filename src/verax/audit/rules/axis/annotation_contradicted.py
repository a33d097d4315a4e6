"""An annotation that the code contradicts by how many axes there are, or by using others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.events import Fact
from ...source.queries.arrays import are_declared, arrays_in_words, plain
from .._rule import Rule
from ._annotations import returned_otherwise

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Operations that fail if annotations are right, and results with more or fewer axes."""
    for fact in facts.events(Fact):
        if fact.kind == "returned with other axes":
            yield returned_otherwise(RULE, facts, fact, _FIX)
        elif fact.kind == "mismatch" and are_declared(fact.data["operands"]):
            yield _used(facts, fact)


def _used(facts: SourceFacts, fact: Fact) -> Finding:
    reason, arrays = plain(fact.data["reason"]), arrays_in_words(facts, fact.data["operands"])
    return RULE.finding(
        fact.place,
        current=f"`{fact.text}` does not fit what annotations say: {reason}"
        + (f"; {arrays}" if arrays else ""),
        expected="an array is used with the axes that its annotation says",
        fix=_FIX,
        engine=Engine.SOURCE,
    )


_FIX = (
    "Correct the annotation, if the code is right; otherwise look where an axis was reduced, kept "
    "or mapped away by mistake."
)

RULE = Rule(
    code="AX017",
    name="annotation-contradicted",
    title="The code and an annotation do not agree",
    family="axis",
    severity=Severity.MINOR,
    confidence=Confidence.LIKELY,
    warns=True,
    explanation="""\
Nothing compares an annotation of jaxtyping with the array unless a type checker runs at that place.
One that is wrong misleads every reader, and one that is right says that the code fails.

Reported where an operation would fail on an array with the axes that its annotation says, and where
a function returns more or fewer axes than it says. Which of the two is wrong is for the author to
tell.""",
    wrong="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def channels_last(image: Float[Array, "height width"]):
    return jnp.transpose(image, (1, 2, 0))


def entry(image):
    return channels_last(image)


def inputs():
    return (jnp.ones((3, 8, 8)),)
""",
    right="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def channels_last(image: Float[Array, "channel height width"]):
    return jnp.transpose(image, (1, 2, 0))


def entry(image):
    return channels_last(image)


def inputs():
    return (jnp.ones((3, 8, 8)),)
""",
    source=check_source,
)
