"""Gradients that are added up over microbatches, where the loss is averaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.gradients.accumulated import unaveraged
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Sums over the turns of a loop that reach an optimiser, beside a mean of the losses."""
    for it in unaveraged(facts):
        mean = it.mean.place
        if mean is None:
            continue
        yield RULE.finding(
            mean,
            current="the losses of all turns are averaged here, and their gradients, which were "
            "added up beside them, reach the optimiser as a sum",
            expected="the optimiser gets the gradient of the mean",
            fix="divide the gradients by the same number as the loss, with `jax.tree.map`",
            evidence=(
                Evidence("differentiated here, in each turn", it.derivative.place),
                Evidence("the sum is applied here", it.update.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="GR206",
    name="gradients-not-averaged",
    title="Accumulated gradients are summed where the loss is averaged",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
To take a large batch in several parts, losses and gradients of the parts are added up and divided
by their number. Where only the loss is divided, the gradient is as many times too large: the step
changes with the number of parts, and so does what clipping does.

Reported where both come from one `value_and_grad` in a loop, the sum of the losses is divided, and
the sum of the gradients goes to an optimiser as it is.""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.sgd(0.1)


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def entry(w, state, parts):
    def add(carry, x):
        value, gradient = jax.value_and_grad(loss)(w, x)
        return (carry[0] + value, carry[1] + gradient), None

    (total, gradient), _ = jax.lax.scan(add, (0.0, jnp.zeros_like(w)), parts)
    updates, state = TX.update(gradient, state, w)
    return optax.apply_updates(w, updates), state, total / parts.shape[0]


def inputs():
    return jnp.ones(3), TX.init(jnp.ones(3)), jnp.ones((4, 5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

TX = optax.sgd(0.1)


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def entry(w, state, parts):
    def add(carry, x):
        value, gradient = jax.value_and_grad(loss)(w, x)
        return (carry[0] + value, carry[1] + gradient), None

    (total, gradient), _ = jax.lax.scan(add, (0.0, jnp.zeros_like(w)), parts)
    updates, state = TX.update(gradient / parts.shape[0], state, w)
    return optax.apply_updates(w, updates), state, total / parts.shape[0]


def inputs():
    return jnp.ones(3), TX.init(jnp.ones(3)), jnp.ones((4, 5, 3))
""",
    source=check_source,
)
