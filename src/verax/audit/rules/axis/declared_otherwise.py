"""An annotation that the array contradicts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Fact
from ...source.queries.arrays import names_are_refuted
from .._rule import Rule
from ._annotations import returned_otherwise

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Results and arguments whose axes are others than the annotation says."""
    for fact in facts.events(Fact):
        if fact.kind == "returned otherwise" and not names_are_refuted(facts, fact.frame):
            yield returned_otherwise(RULE, facts, fact, _FIX)
        elif fact.kind == "passed otherwise":
            yield _passed(facts, fact)


def _passed(facts: SourceFacts, fact: Fact) -> Finding:
    given, wanted = fact.data["names"]
    parameter = fact.data["parameter"]
    return RULE.finding(
        fact.place,
        current=f"the axis {given} is passed where `{parameter}` is declared with {wanted}",
        expected=f"`{parameter}` gets the axis {wanted}",
        fix="Map or transpose the other axis (`in_axes`, `jnp.swapaxes`), or correct the "
        "annotation.",
        engine=Engine.SOURCE,
    )


_FIX = (
    "Look where the axis was reduced, kept or moved by another number than meant; or correct the "
    "annotation."
)

RULE = Rule(
    code="AX012",
    name="declared-otherwise",
    title="An array has other axes than its annotation says",
    family="axis",
    severity=Severity.CRITICAL,
    explanation="""\
An annotation of jaxtyping says which axes an array has, but nothing compares it with the array
unless a type checker runs at that place. Within one call a name stands for one axis: a function of
`"batch time feat"` that returns `"batch feat"` has reduced time, and not the batch.

Reported where the axes of a result, followed from those of the parameters, are others than the
annotation of the function says, by their sizes or their names; where an axis of the batch is passed
as one of time, or the other way round; and where a map takes just the axis away that the function
is declared with.""",
    wrong="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def pooled(x: Float[Array, "batch time feat"]) -> Float[Array, "batch feat"]:
    return jnp.mean(x, axis=0)


def entry(x):
    return pooled(x)


def inputs():
    return (jnp.ones((4, 4, 3)),)
""",
    right="""\
import jax.numpy as jnp
from jaxtyping import Array, Float


def pooled(x: Float[Array, "batch time feat"]) -> Float[Array, "batch feat"]:
    return jnp.mean(x, axis=1)


def entry(x):
    return pooled(x)


def inputs():
    return (jnp.ones((4, 4, 3)),)
""",
    source=check_source,
)
