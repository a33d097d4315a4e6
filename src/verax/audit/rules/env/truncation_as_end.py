"""A target that takes the end of time for the end of an episode."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.operations import ACROSS, AND, CASTS, OR, PARTS, SELECTIONS
from ...source.queries.episodes.resets import resets
from ...source.queries.episodes.targets import estimates, factors, observations_beside, targets
from ...source.queries.episodes.time_limits import CUT, ENDED
from ...source.queries.names import names_of
from ...source.queries.nodes import is_flag
from ...source.values import Data
from ...words import words_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.episodes.targets import Target


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Targets whose mask is made from both flags of a record that holds what was seen next."""
    replaced = {it.result for it in resets(facts)}
    for target in targets(facts):
        mask = _mask_of_both(facts, target)
        if mask is None or mask.place is None:
            continue
        _, following = observations_beside(facts, target.frame, target.reward)
        made = [it.node for it in estimates(facts, target) if isinstance(it, Data)]
        seen = following.node if following is not None else None
        # What a reset has put in its place tells nothing of what would have come.
        if seen is None or not replaced.isdisjoint(seen.ancestors()):
            continue
        if not any(it is not mask and it.depends_on(seen) for it in made):
            continue
        yield RULE.finding(
            mask.place,
            current="nothing is added after a step at which time was up, as if there were nothing "
            "to come; the observation that follows it is known",
            expected="only where an episode has terminated there is nothing to come",
            fix="mask by the flag for termination alone",
            evidence=(Evidence("the target is here", target.total.place),),
            engine=Engine.SOURCE,
        )


def _mask_of_both(facts: SourceFacts, target: Target) -> Node | None:
    """The factor of a target that is made from the flags for an end and for that of time."""
    for factor in factors(target.product):
        node = factor.node if isinstance(factor, Data) else None
        words = _words_of_flags(facts, target, node) if node is not None else set[str]()
        if words & ENDED and words & CUT:
            # A mask that is taken out of a record, or comes from a loop, was made before.
            while node is not None and node.operation in _TAKEN and node.inputs:
                node = node.inputs[0]
            return node
    return None


def _words_of_flags(facts: SourceFacts, target: Target, mask: Node) -> set[str]:
    """What the flags are called that a mask is made of; nothing if it is made of more than that."""
    found: set[str] = set()
    pending, seen = [mask], {mask}
    while pending and len(seen) < 60:
        node = pending.pop()
        names = names_of(facts, node, target.frame) | names_of(facts, node, node.frame)
        words = {word for name in names for word in words_of(name)} & (ENDED | CUT)
        if words and node.operation not in _JOINING:
            is_one = words <= ENDED or words <= CUT  # and not one thing that has both names
            found |= words if is_one else set[str]()
        elif node.operation in _OF_FLAGS and node.inputs:
            new = [it for it in node.inputs if it not in seen]
            seen.update(new)
            pending += new
        elif node.inputs and not is_flag(node):
            return set()
    return found


_JOINING = OR | AND | SELECTIONS | {"-", "~x"}
_TAKEN = ACROSS | PARTS
# What turns flags into flags and masks, or takes them from somewhere.
_OF_FLAGS = _TAKEN | _JOINING | CASTS


RULE = Rule(
    code="EN017",
    name="truncation-as-end",
    title="A target stops where only time was up",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
An episode that terminates has nothing to come; one that is cut off by a limit of time would have
gone on. A target that is masked by both tells the value function that the future is worth nothing
at arbitrary states, wherever the clock happened to stop.

Reported for the sum of a reward and a discounted estimate for the observation that came next (by
the names of the fields of a record), when the mask is made from the record's flags for termination
and for truncation.""",
    wrong="""\
from typing import NamedTuple

import jax.numpy as jnp


class Batch(NamedTuple):
    obs: jnp.ndarray
    reward: jnp.ndarray
    next_obs: jnp.ndarray
    terminated: jnp.ndarray
    truncated: jnp.ndarray


def target(w, batch):
    over = jnp.maximum(batch.terminated, batch.truncated)
    return batch.reward + 0.99 * (1.0 - over) * (batch.next_obs @ w)


def entry(w, batch):
    return target(w, batch)


def inputs():
    obs, flags = jnp.ones((5, 3)), jnp.zeros(5)
    return jnp.ones(3), Batch(obs, jnp.ones(5), obs + 1.0, flags, flags)
""",
    right="""\
from typing import NamedTuple

import jax.numpy as jnp


class Batch(NamedTuple):
    obs: jnp.ndarray
    reward: jnp.ndarray
    next_obs: jnp.ndarray
    terminated: jnp.ndarray
    truncated: jnp.ndarray


def target(w, batch):
    return batch.reward + 0.99 * (1.0 - batch.terminated) * (batch.next_obs @ w)


def entry(w, batch):
    return target(w, batch)


def inputs():
    obs, flags = jnp.ones((5, 3)), jnp.zeros(5)
    return jnp.ones(3), Batch(obs, jnp.ones(5), obs + 1.0, flags, flags)
""",
    source=check_source,
)
