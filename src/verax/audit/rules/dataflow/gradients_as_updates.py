"""Gradients that are added to parameters as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.values import leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls of `optax.apply_updates` with the gradients of a loss."""
    for call in facts.calls(("optax.apply_updates",)):
        updates = call.args[1] if len(call.args) > 1 else call.keywords.get("updates")
        found = leaves(updates) if updates is not None else []
        if found and all(it.node.operation == "gradient" for it in found):
            yield RULE.finding(
                call.place,
                current="the gradients themselves are added to the parameters, without the "
                "optimiser's update: that makes the loss larger",
                expected="updates from `optimiser.update(gradients, state, params)`",
                fix="pass the updates that the optimiser returns",
                evidence=(Evidence("the gradients come from here", found[0].node.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="DF107",
    name="gradients-as-updates",
    title="Gradients are applied as if they were updates",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`optax.apply_updates(params, updates)` adds. Updates are what an optimiser makes from gradients:
scaled, and with the opposite sign. With gradients in their place, every step goes uphill, with a
learning rate of one.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))


def cross_entropy(params, images, labels):
    logits = images @ params["kernel"] + params["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(carry, batch):
    params, opt_state = carry
    loss, grads = jax.value_and_grad(cross_entropy)(params, *batch)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    params = optax.apply_updates(params, grads)
    return (params, opt_state), loss


def entry(params, batches):
    (params, _), losses = jax.lax.scan(train_step, (params, OPTIMISER.init(params)), batches)
    return params, losses


def inputs():
    params = {"kernel": jnp.zeros((8, 3)), "bias": jnp.zeros(3)}
    return params, (jnp.ones((5, 16, 8)), jnp.zeros((5, 16), jnp.int32))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-4))


def cross_entropy(params, images, labels):
    logits = images @ params["kernel"] + params["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train_step(carry, batch):
    params, opt_state = carry
    loss, grads = jax.value_and_grad(cross_entropy)(params, *batch)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return (params, opt_state), loss


def entry(params, batches):
    (params, _), losses = jax.lax.scan(train_step, (params, OPTIMISER.init(params)), batches)
    return params, losses


def inputs():
    params = {"kernel": jnp.zeros((8, 3)), "bias": jnp.zeros(3)}
    return params, (jnp.ones((5, 16, 8)), jnp.zeros((5, 16), jnp.int32))
""",
    source=check_source,
)
