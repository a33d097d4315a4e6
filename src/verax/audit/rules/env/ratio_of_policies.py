"""A ratio of probabilities that is always one, or upside down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.operations import BOUNDS, GIVEN
from ...source.queries.names import names_of
from ...source.queries.sameness import Sameness
from ...source.values import Data
from ...words import words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Exponentials of a difference of logarithms that something bounds, as ratios are."""
    sameness = Sameness()
    told: set[Node] = set()
    for ratio, bound in _bounded(facts):
        place = ratio.inputs[0].place
        if ratio in told or place is None:
            continue
        told.add(ratio)
        first, second = map(_moving, _terms(ratio))
        if sameness.are(first, second):
            current = "both logarithms are the same, so that the ratio is always one, and its "
            current += "bounds hold nothing back"
            fix = "subtract the logarithm that was stored when the action was chosen"
        elif _is_stored(facts, first) and not _may_be_stored(facts, second):
            current = "the ratio is upside down: what was stored when the action was chosen stands "
            current += "above, and what the policy says now below"
            fix = "subtract the stored log-probability from the new one, not the other way round"
        else:
            continue
        yield RULE.finding(
            place,
            current=current,
            expected="the probability of an action now, over that when it was chosen",
            fix=fix,
            evidence=(Evidence("the ratio is bounded here", bound),),
            engine=Engine.SOURCE,
        )


def _bounded(facts: SourceFacts) -> Iterator[tuple[Node, Place]]:
    """All exponentials of differences that are kept within bounds."""
    for call in facts.calls(BOUNDS):
        for value in call.args:
            node = value.node if isinstance(value, Data) else None
            while node is not None and node.operation == "*" and node.inputs:
                node = next((it for it in node.inputs if it.operation == _EXP), None)
            if node is not None and node.operation == _EXP and len(_terms(node)) == 2:
                yield node, call.place


_EXP = "jax.numpy.exp"


def _terms(ratio: Node) -> list[Node]:
    """The two parts of the difference in an exponential."""
    inside = ratio.inputs[0] if ratio.inputs else None
    if inside is None or inside.operation != "-" or len(inside.operands) != 2:
        return []
    return [it.node for it in inside.operands if isinstance(it, Data)]


def _moving(node: Node) -> Node:
    while node.operation == "jax.lax.stop_gradient" and node.inputs:
        node = node.inputs[0]
    return node


_LOGARITHMS = frozenset("log logp logprob logprobs lp".split())
_OLD = frozenset("old behaviour behavior behavioural stored sampled rollout actor mu".split())


def _is_stored(facts: SourceFacts, node: Node) -> bool:
    """Whether a logarithm is given: by a name for what is old, or as a part of what was there.

    What a network answers now may well be a record with a part for the logarithm.
    """
    is_old = not _words(facts, node).isdisjoint(_OLD)
    return _may_be_stored(facts, node) and (is_old or _is_given(node))


def _may_be_stored(facts: SourceFacts, node: Node) -> bool:
    """Whether a logarithm is taken from somewhere, by a name that tells what it is."""
    if node.operation not in GIVEN:
        return False
    words = _words(facts, node)
    is_field = node.operation in ("field", "slice") or "'" in node.label
    return not words.isdisjoint(_OLD) or (is_field and not words.isdisjoint(_LOGARITHMS))


def _words(facts: SourceFacts, node: Node) -> set[str]:
    """The words of a value's names; what a call is given says nothing of what comes of it."""
    names = names_of(facts, node, node.frame)
    return {word for name in names for word in words_of(name.rpartition(")")[2])}


def _is_given(node: Node) -> bool:
    while node.operation in GIVEN and node.inputs:
        node = node.inputs[0]
    return node.operation in GIVEN


RULE = Rule(
    code="EN018",
    name="ratio-of-policies",
    title="A ratio of probabilities does not compare the policies",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
What is learned from actions of an older policy is weighted by how probable they are now, over how
probable they were when they were chosen. The latter has to be stored: computed anew it is the same
number, the ratio is one, and clipping it does nothing. Upside down, the ratio pushes away from what
it should push to.

Reported for the exponential of a difference that is clipped, or bounded from above, when both parts
are the same computation, or when the first one is stored (by its name) and the second is not.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(w, obs, stored_log_prob, advantage):
    log_prob = jax.nn.log_sigmoid(obs @ w)
    ratio = jnp.exp(log_prob - jax.lax.stop_gradient(log_prob))
    return jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()


def inputs():
    return jnp.ones(3), jnp.ones((5, 3)), jnp.zeros(5), jnp.ones(5)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(w, obs, stored_log_prob, advantage):
    log_prob = jax.nn.log_sigmoid(obs @ w)
    ratio = jnp.exp(log_prob - stored_log_prob)
    return jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()


def inputs():
    return jnp.ones(3), jnp.ones((5, 3)), jnp.zeros(5), jnp.ones(5)
""",
    source=check_source,
)
