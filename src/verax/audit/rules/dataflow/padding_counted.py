"""Means and deviations that count what a mask says is not there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...phrases import quoted_name
from ...source.queries.numbers.masks import averaged_with_padding, centred_with_padding
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Means over masked values, and means that are taken from values before these are masked."""
    for mean, masked in averaged_with_padding(facts):
        if mean.place is not None:
            yield RULE.finding(
                mean.place,
                current=f"a mean over all elements, of which `{masked.name}` has set some to zero: "
                "it shrinks with the share that is masked",
                expected="a sum over what is there, divided by how much that is",
                fix=f"pass {quoted_name(masked.name, 'the mask')} to the mean as its `where`, or "
                "divide the sum by how many elements are left",
                evidence=(Evidence("it is masked here", masked.node.place),),
                engine=Engine.SOURCE,
            )
    for mean, masked in centred_with_padding(facts):
        if mean.place is not None:
            yield RULE.finding(
                mean.place,
                current="a mean over all elements is taken from values that are masked by "
                f"`{masked.name}` only afterwards: what is not there counts in it",
                expected="statistics over what is there",
                fix=f"pass {quoted_name(masked.name, 'the mask')} to the mean as its `where`",
                evidence=(Evidence("it is masked here", masked.node.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF109",
    name="padding-counted",
    title="A mean counts what a mask leaves out",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
`jnp.mean(losses * mask)` divides by the number of all elements, not of those that the mask lets
through: a batch of short sequences gets a smaller loss, and smaller gradients, than one of long
sequences. In the same way statistics that are taken before padding is masked are those of the
padding, too.

A mask is known by its name (mask, valid, pad), or as a comparison of `arange` with lengths. A mean
that is divided by the mean of the mask is right, and left alone.
""",
    wrong="""\
import jax.numpy as jnp

def entry(losses, lengths):
    mask = jnp.arange(losses.shape[1]) < lengths[:, None]
    return jnp.mean(losses * mask)

def inputs():
    return jnp.ones((2, 5)), jnp.array([3, 5])
""",
    right="""\
import jax.numpy as jnp

def entry(losses, lengths):
    mask = jnp.arange(losses.shape[1]) < lengths[:, None]
    return jnp.sum(losses * mask) / jnp.maximum(jnp.sum(mask), 1)

def inputs():
    return jnp.ones((2, 5)), jnp.array([3, 5])
""",
    source=check_source,
)
