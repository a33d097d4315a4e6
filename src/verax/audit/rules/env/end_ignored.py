"""A target that goes on where an episode has ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Place, Severity
from ...phrases import quoted_name
from ...source.queries.episodes.targets import (
    Target,
    ends_beside,
    estimates,
    factors,
    is_called_going_on,
    is_discounted,
    is_end,
    is_filled,
    is_sum_of_masked_rewards,
    sums,
    targets,
)
from ...source.queries.names import names_of
from ...source.queries.nodes import users_of
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Targets from a record with a flag for the end of an episode, which has no part in them."""
    for it in targets(facts):
        flag = ends_beside(facts, it.frame, it.reward)
        place = _discounted_at(it) or it.total.place
        # Another factor may know of the end.
        if not flag or place is None or len(estimates(facts, it)) != 1 or _is_told(facts, it):
            continue
        yield RULE.finding(
            place,
            current="the target adds a discounted estimate of what comes after, also where the "
            f"episode has ended: `{flag}` comes with the reward, and has no part in it",
            expected="where an episode ends, the target is the reward alone",
            fix="multiply the estimate by "
            + ("" if is_called_going_on(flag) else "one minus ")
            + quoted_name(flag, "the flag"),
            engine=Engine.SOURCE,
        )
    yield from _past_masked_rewards(facts)


def _past_masked_rewards(facts: SourceFacts) -> Iterator[Finding]:
    """Sums of several rewards, which stop at an end, with an estimate after them that does not."""
    for frame, total in sums(facts):
        estimated = [it for it in total.inputs if is_discounted(facts, it, frame)]
        summed = [it for it in total.inputs if is_sum_of_masked_rewards(facts, it, frame)]
        if len(estimated) != 1 or len(summed) != 1 or estimated == summed or total.place is None:
            continue
        target = Target(frame, total, summed[0], estimated[0])
        if len(estimates(facts, target)) == 1 and not _is_told(facts, target, estimated[0]):
            yield RULE.finding(
                total.place,
                current="the rewards of several steps stop where an episode ends, and the "
                "discounted estimate of what comes after them is added all the same",
                expected="after an episode that has ended in between, nothing comes",
                fix="multiply the estimate by what is left of the mask after the last reward",
                engine=Engine.SOURCE,
            )


def _discounted_at(target: Target) -> Place | None:
    """Where one discount for all steps is made, if that has a place of its own."""
    made = [it.node for it in factors(target.product) if isinstance(it, Data)]
    return next((it.place for it in made if is_filled(it, target.frame)), None)


def _is_told(facts: SourceFacts, target: Target, summand: Node | None = None) -> bool:
    """Whether flags come in somewhere: in the estimate, or where the target is used.

    Of a sum whose other parts are known to be masked, only one `summand` is asked.
    """

    def is_flag(node: Node) -> bool:
        if is_filled(node, target.frame):
            return False
        names = names_of(facts, node, target.frame)
        return is_end(facts, node, target.frame) or any(map(is_called_going_on, names))

    if any(map(is_flag, (summand or target.total).ancestors())):
        return True
    users = users_of(facts)
    pending, seen = [target.total], {target.total}
    while pending and len(seen) < 200:
        for user in users.get(pending.pop(), ()):
            if user in seen:
                continue
            seen.add(user)
            pending.append(user)
            if user.operation in ("+", "-") and not _takes_back(facts, user, target):
                continue  # What is added stands beside the target, and drops nothing of it.
            others = [
                it for it in user.inputs if it not in seen and not it.depends_on(target.total)
            ]
            if any(is_flag(node) for it in others for node in it.ancestors()):
                return True
    return False


def _takes_back(facts: SourceFacts, node: Node, target: Target) -> bool:
    """Whether another part of a sum is made from what the target estimates."""
    estimated = [it.node for it in estimates(facts, target) if isinstance(it, Data)]
    others = [it for it in node.inputs if not it.depends_on(target.total)]
    return any(other.depends_on(it) for other in others for it in estimated)


RULE = Rule(
    code="EN005",
    name="end-ignored",
    title="A target goes on after the end of an episode",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
After the last step of an episode there is nothing to come, so the target of its value is the
reward. `reward + gamma * value(next_obs)` adds the value of an observation that belongs to no
episode, or to the next one, and these errors spread backwards.

Reported for the sum of a reward and a discounted estimate, when the record that holds the reward
has a field for the end of an episode, and neither the sum nor what becomes of it depends on it. So
too for the sum of several masked rewards and an estimate that is not masked.""",
    wrong="""\
from typing import NamedTuple

import jax.numpy as jnp


class Batch(NamedTuple):
    obs: jnp.ndarray
    reward: jnp.ndarray
    next_obs: jnp.ndarray
    done: jnp.ndarray


def target(w, batch):
    return batch.reward + 0.99 * (batch.next_obs @ w)


def entry(w, batch):
    return target(w, batch)


def inputs():
    return jnp.ones(3), Batch(jnp.ones((5, 3)), jnp.ones(5), jnp.ones((5, 3)), jnp.zeros(5))
""",
    right="""\
from typing import NamedTuple

import jax.numpy as jnp


class Batch(NamedTuple):
    obs: jnp.ndarray
    reward: jnp.ndarray
    next_obs: jnp.ndarray
    done: jnp.ndarray


def target(w, batch):
    return batch.reward + 0.99 * (1.0 - batch.done) * (batch.next_obs @ w)


def entry(w, batch):
    return target(w, batch)


def inputs():
    return jnp.ones(3), Batch(jnp.ones((5, 3)), jnp.ones(5), jnp.ones((5, 3)), jnp.zeros(5))
""",
    source=check_source,
)
