"""A reward that is added to an estimate, or masked by a flag, of an earlier step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.queries.targets import Target


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Targets whose parts are cut from their arrays at different steps."""
    from ...source.queries.targets import targets

    for target in targets(facts):
        for node, what in _earlier(facts, target):
            place = node.place
            if place is None:
                continue
            yield RULE.finding(
                place,
                current=f"{what} of an earlier step than the reward that it comes with",
                expected="a target is made from the reward of a step, the flag of the same step, "
                "and the estimate for what comes after it",
                fix="take all of them at the same step, and the estimate at the next one: "
                "`rewards[t] + gamma * (1 - dones[t]) * values[t + 1]`",
                evidence=(Evidence("the target is here", target.total.place),),
                engine=Engine.SOURCE,
            )


def _earlier(facts: SourceFacts, target: Target) -> Iterator[tuple[Node, str]]:
    """The factors of a target's estimate that are taken from earlier steps than its reward."""
    from ...source.queries.positions import position
    from ...source.queries.targets import factors, is_end
    from ...source.values import Data

    own = position(target.reward, is_changed=True)
    for factor in factors(target.product):
        if not isinstance(factor, Data):
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
                yield factor.node, "the flag is that"
        elif other.whole is not own.whole:
            yield factor.node, "the estimate is that"


_GIVEN = frozenset(("parameter", "field", "item", "stack", "argument", "jax.numpy.stack"))


RULE = Rule(
    code="EN011",
    name="steps-misaligned",
    title="A reward meets what belongs to an earlier step",
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
reward.""",
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
