"""A reward that is added to an estimate, or masked by a flag, of another step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.operations import CASTS
from ...source.queries.episodes.early_resets import early_resets
from ...source.queries.episodes.rollouts import recorded, slots
from ...source.queries.episodes.targets import factors, is_end, targets
from ...source.queries.loops.direction import runs_backwards
from ...source.queries.names import names_of
from ...source.queries.nodes import is_flag
from ...source.queries.positions import position
from ...source.values import Data
from ...words import is_episode_end
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.episodes.targets import Target


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Targets whose parts are cut from their arrays at different steps."""
    for target in targets(facts):
        for node, what in _of_other_steps(facts, target):
            place = node.place
            if place is None:
                continue
            yield RULE.finding(
                place,
                current=f"{what} step than the reward that it comes with",
                expected="a target is made from the reward of a step, the flag of the same step, "
                "and the estimate for what comes after it",
                fix="take reward and flag at the same step t, and the estimate at step t + 1",
                evidence=(Evidence("the target is here", target.total.place),),
                engine=Engine.SOURCE,
            )

    for early in early_resets(facts):
        yield RULE.finding(
            early.place,
            current=f"the memory starts anew by `{facts.name_of(Data(early.flag))}` before it "
            "takes in what was seen at the same step, as if an episode began there; the target "
            "takes the flag for the end of one",
            expected="a memory starts anew at the step after the one at which an episode has ended",
            fix="pass the flags of the steps before: shifted by one, with a zero in front",
            evidence=(Evidence("the target is here", early.target.total.place),),
            engine=Engine.SOURCE,
        )


def _of_other_steps(facts: SourceFacts, target: Target) -> Iterator[tuple[Node, str]]:
    """The factors of a target's estimate that are of earlier steps than its reward, or later."""
    own = position(target.reward, is_changed=True)
    for factor in factors(target.product):
        if not isinstance(factor, Data):
            continue
        if _is_of_turn_before(facts, factor.node, target.reward):
            yield factor.node, "the flag is that of an earlier"
            continue
        if _is_of_turn_after(facts, factor.node, target.reward):
            yield factor.node, "the flag is that of a later"
            continue
        other = position(factor.node, is_changed=True)
        if (
            not other.is_cut
            or other.counter != own.counter
            or other.axis != own.axis
            or other.shift >= own.shift
        ):
            continue
        if other.whole.operation not in _GIVEN or own.whole.operation not in _GIVEN:
            continue  # How an array that was computed lies to another one is not known.
        if is_end(facts, other.whole, target.frame):
            # Slices of whole arrays have several conventions; a counter has one.
            if own.counter:
                yield factor.node, "the flag is that of an earlier"
        elif other.whole is not own.whole:
            yield factor.node, "the estimate is that of an earlier"


def _is_of_turn_before(facts: SourceFacts, factor: Node, reward: Node) -> bool:
    """Whether a loop has recorded the flag that came into a turn with the reward of that turn."""
    factor = _flag_in(factor)
    flag, paid = recorded(factor), recorded(reward)
    if flag is None or paid is None or flag.operation != "carry":
        return False
    slot = slots(facts).get(flag)
    if slot is None or paid.operation == "carry" or not paid.is_made_in(slot.loop.region):
        return False
    frame = slot.after.frame
    names = names_of(facts, slot.after, frame) | names_of(facts, factor, factor.frame)
    return is_flag(slot.after) or any(map(is_episode_end, names))


def _is_of_turn_after(facts: SourceFacts, factor: Node, reward: Node) -> bool:
    """Whether a loop that runs backwards hands a flag on that its step made with its own reward.

    A flag that was recorded as it came into a step is of the step before: there that is right.
    """
    slot = slots(facts).get(_flag_in(factor))
    if slot is None or not runs_backwards(slot.loop):
        return False
    flag, paid = recorded(_flag_in(slot.after)), recorded(reward)
    if flag is None or paid is None or not is_flag(flag):
        return False
    came_in = slots(facts).get(flag)
    if came_in is not None and paid.is_made_in(came_in.loop.region):
        return False
    regions = [it for it in flag.varies & paid.varies if flag.is_made_in(it)]
    return any(paid.is_made_in(it) for it in regions)


def _flag_in(node: Node) -> Node:
    """What a factor is made of that is one where an episode goes on."""
    while node.operation in _SAME and len(node.inputs) == 1:
        node = node.inputs[0]
    return node


_SAME = CASTS | {"-", "~x"}
_GIVEN = frozenset(("parameter", "field", "item", "stack", "argument", "jax.numpy.stack"))


RULE = Rule(
    code="EN011",
    name="steps-misaligned",
    title="A reward meets what belongs to another step",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
The target of a step is its reward and the discounted estimate for the step after it, unless the
episode ended there. Arrays of a rollout that are cut at different places have the same shape and
belong to different steps: an estimate from before the reward, or the flag of the step before, which
at the first step is that of the last, since `-1` counts from the end.

Reported for the sum of a reward and a discounted estimate (by their names), when the slices or the
counters say that the estimate, or a flag in a loop, is taken from an earlier step than the
reward; also when a loop has recorded the flag with which a turn began beside the reward that it
ended with, or a recursion hands on the flag that a turn ended with to the reward of the one
before. Also when a loop wipes its memory by a flag before it takes in what was seen at that step,
and a target masks the estimate for the step after by the same flag: it cannot be both the first
step of an episode and the last.""",
    wrong="""\
import jax.numpy as jnp


def entry(rewards, values, discounts):
    return rewards[1:] + 0.99 * discounts[1:] * values[:-1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones((6, 3))
""",
    right="""\
import jax.numpy as jnp


def entry(rewards, values, discounts):
    return rewards[1:] + 0.99 * discounts[1:] * values[1:]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones((6, 3))
""",
    source=check_source,
)
