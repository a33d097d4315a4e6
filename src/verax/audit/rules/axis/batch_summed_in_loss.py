"""A loss that is averaged over features, and summed over the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Losses that average over other axes than that of independent examples."""
    from ...trace.describe import axis_phrase, tensor_of
    from ...trace.loss_weights import summed_batches

    for found in summed_batches(facts):
        summed, averaged = found.summed.step, found.averaged.step
        batch = found.batch.label
        other = axis_phrase(facts, averaged.inputs[0], averaged.params["axes"])
        yield RULE.finding(
            facts.place(summed),
            current=f"the loss is averaged over {other}, and summed over {batch}: "
            f"{tensor_of(facts, summed.inputs[0])}. Its gradient grows with the size of {batch}",
            expected=f"the loss is a mean over {batch}, whatever it does with {other}",
            fix=f"average over {batch} too: `jnp.mean` without an axis, or in place of the sum",
            evidence=(Evidence(f"{other} is averaged here", averaged.place),),
        )


RULE = Rule(
    code="AX010",
    name="batch-summed-in-loss",
    title="A loss is averaged over features only",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    warns=True,
    explanation="""\
A loss is a mean over examples, so that its gradient does not depend on how many there are. With
`jnp.mean(error, axis=-1)` it is averaged over the features of each example; a sum over what is left
adds the examples up, and a batch of another size needs another learning rate.

Reported when a differentiated loss is summed over an axis of independent elements, by its declared
name, and averaged over another one. Not where the gradient is divided by something later (Adam, a
norm, a count), where each example has parameters of its own, or where examples are weighted.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"w": "feat out", "x": "batch feat", "y": "batch out"}


def entry(w, x, y):
    def loss(w):
        return jnp.sum(jnp.mean((x @ w - y) ** 2, axis=-1))

    return w - 0.1 * jax.grad(loss)(w)


def inputs():
    return jnp.ones((3, 2)), jnp.ones((8, 3)), jnp.ones((8, 2))
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"w": "feat out", "x": "batch feat", "y": "batch out"}


def entry(w, x, y):
    def loss(w):
        return jnp.mean(jnp.sum((x @ w - y) ** 2, axis=-1))

    return w - 0.1 * jax.grad(loss)(w)


def inputs():
    return jnp.ones((3, 2)), jnp.ones((8, 3)), jnp.ones((8, 2))
""",
    trace=check,
)
