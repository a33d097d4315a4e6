"""An annotation that the code contradicts by how many axes there are, or by using others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.queries.arrays import are_declared, arrays_in_words, names_are_refuted, plain
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
            if not names_are_refuted(facts, fact.frame):
                yield _used(facts, fact)
        elif fact.kind == "passed with other sizes":
            yield _passed(fact)


def _passed(fact: Fact) -> Finding:
    """Annotations that cannot all be right, where one function calls another."""
    parameter, other, axis = fact.data["parameter"], fact.data["other"], fact.data["axis"]
    expected, size = fact.data["sizes"]
    said = f"an axis of size {expected}"
    if other:
        said = f"the axis {axis}, which is {expected} of `{other}`"
    return RULE.finding(
        fact.data["declared"],
        current=f"`{parameter}` is declared with {said}, and is given one of size {size}",
        expected="what is passed has the sizes that the annotations say",
        fix=_FIX,
        evidence=(Evidence("it is passed here", fact.place),),
        engine=Engine.SOURCE,
    )


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

Reported where an operation would fail on an array with the axes that its annotation says, where a
function returns more or fewer axes than it says, and where it is called with other sizes. Which of
the two is wrong is for the author to tell.""",
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
