"""Outputs that a scan stacks and nobody reads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Value

# Below this, keeping an output costs less than reading about it.
_SMALLEST = 1 << 20


def check(facts: Facts) -> Iterator[Verdict]:
    """Large stacked outputs on which nothing depends."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if step.kind != "scan":
            continue
        unused = [it for it in step.detail.stacked if not it.consumers and it not in facts.live]
        size = sum(_bytes(value) for value in unused)
        if size >= _SMALLEST:
            kinds = ", ".join(str(tensor_of(facts, value)) for value in unused[:4])
            yield RULE.finding(
                facts.place(step),
                current=f"the scan stacks {kinds} over {step.detail.length} iterations "
                f"({size / 2**20:.1f} MiB), and nothing reads it",
                expected="an iteration stacks what is read afterwards",
                fix="return `None` as the second element of the body's result, or only what is "
                "needed",
            )


def _bytes(value: Value) -> int:
    return math.prod(value.shape) * getattr(value.dtype, "itemsize", 1)


RULE = Rule(
    code="SC303",
    name="stacked-for-nothing",
    title="A scan stacks outputs that nobody reads",
    family="scan",
    severity=Severity.MINOR,
    exact="the trace shows that nothing reads what the scan stacks",
    explanation="""\
What the body of a scan returns as its second result is stacked over all iterations. If only the
final carry is used, that memory is written for nothing; for a long rollout it may be most of what
the program holds.

Reported from 1 MiB on.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(state):
    def step(state, _):
        state = state + 0.1 * jnp.sin(state)
        return state, state

    last, states = jax.lax.scan(step, state, None, length=1000)
    return last


def inputs():
    return (jnp.zeros(1024),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(state):
    def step(state, _):
        return state + 0.1 * jnp.sin(state), None

    last, _ = jax.lax.scan(step, state, None, length=1000)
    return last


def inputs():
    return (jnp.zeros(1024),)
""",
    trace=check,
)
