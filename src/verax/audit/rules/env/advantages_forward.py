"""Advantages and returns that are summed from the wrong end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Severity
from ...words import is_reward, is_value_estimate
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Forward scans that discount what was, out of rewards and values of what is to come."""
    from ...trace.describe import tensor_of
    from ...trace.recurrence import Feedback, feedback, trains

    for step in facts.steps:
        if step.kind != "scan" or trains(step) or not facts.is_users(step):
            continue
        if not _scans_estimates(step):
            continue
        loop = step.detail
        discounted = [
            carry
            for index, carry in enumerate(loop.carry)
            if feedback(facts.variation, step, index) is Feedback.RECURRENT
            and _is_discounted(carry, loop.carried[index])
        ]
        if not discounted:
            continue
        if loop.reverse or any(_is_flipped(value) for value in loop.scanned):
            yield RULE.verified(
                f"the recursion at line {facts.place(step).line} runs from the last step to the "
                "first",
                "the scan is reversed, so that each step adds what comes after it",
                step.place,
            )
            continue
        yield RULE.finding(
            facts.place(step),
            current=f"the scan runs forwards in time, so {tensor_of(facts, discounted[0])} adds up "
            "discounted errors of earlier steps",
            expected="advantages and returns add up what comes after a step: the recursion runs "
            "from the last step to the first",
            fix="`jax.lax.scan(…, reverse=True)`",
        )


def _scans_estimates(step: Step) -> bool:
    """Whether rewards and estimates of value enter a scan, as they are or made into errors."""
    from ...trace.liveness import needed_for

    loop = step.detail
    behind = needed_for(loop.scanned)
    names = [value.name for value in (*behind, *loop.slices) if value.name]
    return any(map(is_reward, names)) and any(map(is_value_estimate, names))


def _is_discounted(carry: Value, carried: Value) -> bool:
    """Whether a leaf is fed back through a factor: carried = something + factor * carry."""
    total = carried.producer
    if total is None or total.primitive not in ("add", "add_any", "sub"):
        return False
    for part in total.inputs:
        factor = part
        for _ in range(6):
            product = factor.producer
            if product is None or product.primitive not in ("mul", "select_n"):
                break
            if carry in product.inputs:
                return True
            factor = next((it for it in product.inputs if it.producer is not None), factor)
    return False


def _is_flipped(value: Value) -> bool:
    for _ in range(8):
        step = value.producer
        if step is None or not step.inputs:
            return False
        if step.primitive == "rev":
            return True
        value = step.inputs[0]
    return False


RULE = Rule(
    code="EN003",
    name="advantages-forward",
    title="A recursion over rewards and values runs forwards in time",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Returns and generalised advantages of a step add up what comes after it, so their recursion starts
at the end of the rollout. A scan without `reverse=True` adds up the past instead; shapes are the
same and training merely does not work.

Reported when rewards and value estimates (by their names) enter a forward scan that feeds a part
of its carry back through a factor.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(rewards, values, next_values):
    def step(gae, inp):
        reward, value, next_value = inp
        gae = reward + 0.99 * next_value - value + 0.94 * gae
        return gae, gae

    return jax.lax.scan(step, jnp.zeros(3), (rewards, values, next_values))[1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones((6, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(rewards, values, next_values):
    def step(gae, inp):
        reward, value, next_value = inp
        gae = reward + 0.99 * next_value - value + 0.94 * gae
        return gae, gae

    return jax.lax.scan(step, jnp.zeros(3), (rewards, values, next_values), reverse=True)[1]


def inputs():
    return jnp.ones((6, 3)), jnp.ones((6, 3)), jnp.ones((6, 3))
""",
    trace=check,
)
