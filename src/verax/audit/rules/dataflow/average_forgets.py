"""A moving average that is mostly the newest value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.queries.training.forgetful_averages import forgetful_averages
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Averages in which parameters that were just updated weigh more than half."""
    for it in forgetful_averages(facts):
        yield RULE.finding(
            it.place,
            current=f"the parameters that were just updated weigh {it.weight:g} in this average",
            expected="an average moves slowly: most of the weight is on what it was before",
            fix="swap the two, or the two weights: the new parameters get the small one",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF125",
    name="average-forgets",
    title="A moving average takes mostly the newest value",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A target network, or an average of parameters, follows the trained ones slowly: it keeps 0.995 of
itself in each step. With the two swapped, or with the decay where the step size belongs, it is a
copy of the newest parameters: the target moves with what chases it, and nothing fails.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

def loss(params, x):
    return jnp.mean((x @ params) ** 2)

def entry(params, target, x):
    tx = optax.sgd(0.1)
    updates, _ = tx.update(jax.grad(loss)(params, x), tx.init(params))
    params = optax.apply_updates(params, updates)
    return params, optax.incremental_update(target, params, 0.005)

def inputs():
    return jnp.ones(3), jnp.zeros(3), jnp.ones((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

def loss(params, x):
    return jnp.mean((x @ params) ** 2)

def entry(params, target, x):
    tx = optax.sgd(0.1)
    updates, _ = tx.update(jax.grad(loss)(params, x), tx.init(params))
    params = optax.apply_updates(params, updates)
    return params, optax.incremental_update(params, target, 0.005)

def inputs():
    return jnp.ones(3), jnp.zeros(3), jnp.ones((4, 3))
""",
    source=check_source,
)
