"""Chances that are masked once they are normalised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...phrases import quoted_name
from ...source.queries.numbers.masks import masked_after_softmax
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Softmaxes of logits that know nothing of the mask which comes after."""
    for softmax, masked in masked_after_softmax(facts):
        if masked.node.place is not None:
            yield RULE.finding(
                masked.node.place,
                current=f"`{masked.name}` leaves some chances out after the softmax has "
                "normalised them: the others no longer sum to one",
                expected="what is masked takes no part in the softmax",
                fix=f"mask the logits before the softmax, or pass it "
                f"{quoted_name(masked.name, 'the mask')} as its `where`",
                evidence=(Evidence("the softmax is here", softmax.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF110",
    name="masked-after-softmax",
    title="A softmax is masked afterwards",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A softmax shares out one among all of its logits. If some of the shares are set to zero afterwards,
the rest sums to less than one, and the logits of what is masked still decide by how much. Set to a
number far below zero, as logits are, they outweigh all others.

A mask that is made from the logits or the chances themselves, as to keep the largest ones, is left
alone, and so is one of whole rows, and chances that are divided by their sum again.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(scores, values, mask):
    weights = jax.nn.softmax(scores, axis=-1)
    weights = jnp.where(mask, weights, 0.0)
    return weights @ values

def inputs():
    return jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.array([True, True, False])
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(scores, values, mask):
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    weights = jnp.where(mask, weights, 0.0)
    return weights @ values

def inputs():
    return jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.array([True, True, False])
""",
    source=check_source,
)
