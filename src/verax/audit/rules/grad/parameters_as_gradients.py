"""Parameters that an optimiser takes for gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.queries.training.given_parameters import given_parameters
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Updates of optimisers that are given parameters first."""
    for call, given in given_parameters(facts):
        yield RULE.finding(
            call.place,
            current=f"the optimiser is given the parameters `{facts.name_of(given)}` where it "
            "takes the gradients",
            expected="gradients first, then the optimiser's state, then the parameters",
            fix="pass the gradients first, then the optimiser's state, then the parameters",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="GR205",
    name="parameters-as-gradients",
    title="An optimiser is given parameters for gradients",
    family="grad",
    severity=Severity.CRITICAL,
    explanation="""\
Parameters and gradients are trees of one structure, so that an optimiser takes one for the other
without an error. Given the parameters, it shrinks them in every step, whatever the loss is.

Reported where the tree that an optimiser makes updates of is the one that these are then added to,
or where gradients are given to it as the parameters.""",
    wrong="""\
import jax
import jax.numpy as jnp
import optax

tx = optax.adam(0.1)


def loss(params, x):
    return jnp.mean((x @ params) ** 2)


def entry(params, state, x):
    gradients = jax.grad(loss)(params, x)
    updates, state = tx.update(params, state, gradients)
    return optax.apply_updates(params, updates), state


def inputs():
    return jnp.ones((3, 3)), tx.init(jnp.ones((3, 3))), jnp.ones((3, 3))
""",
    right="""\
import jax
import jax.numpy as jnp
import optax

tx = optax.adam(0.1)


def loss(params, x):
    return jnp.mean((x @ params) ** 2)


def entry(params, state, x):
    gradients = jax.grad(loss)(params, x)
    updates, state = tx.update(gradients, state, params)
    return optax.apply_updates(params, updates), state


def inputs():
    return jnp.ones((3, 3)), tx.init(jnp.ones((3, 3))), jnp.ones((3, 3))
""",
    source=check_source,
)
