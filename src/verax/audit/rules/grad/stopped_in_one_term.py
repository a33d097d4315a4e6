"""Losses of two like terms, of which one stops a side and the other does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...phrases import quoted_name
from ...source.queries.gradients.sibling_terms import unstopped
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls of a function with a side that another call of it stops."""
    for flow, it in unstopped(facts):
        name = facts.name_of(Data(it.argument))
        yield RULE.finding(
            it.call,
            current=f"`{name}` gets a gradient here, and what stands in its place in the other "
            "term is stopped",
            expected="both terms teach one side, or both teach the two",
            fix=f"stop {quoted_name(name, 'it')} here as well, with "
            "`jax.lax.stop_gradient`, or neither of the two",
            evidence=(
                Evidence("stopped here", it.other),
                Evidence("differentiated here", flow.event.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="GR019",
    name="stopped-in-one-term",
    title="Of two like terms of a loss only one stops a side",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explains=("GR014",),
    explanation="""\
A network that learns to predict a second view of its input from the first, and the first from the
second, has two like terms. Where one of them stops what is predicted and the other does not, that
one lets the network move what it is to predict: to a constant, which is the easiest to hit.

Reported where one function makes both terms, from values that are made alike from the same
parameters.""",
    wrong="""\
import jax
import jax.numpy as jnp


def distance(prediction, target):
    return jnp.mean((prediction - target) ** 2)


def loss(params, x, y):
    first, second = x @ params["encoder"], y @ params["encoder"]
    one = distance(first @ params["predictor"], jax.lax.stop_gradient(second))
    other = distance(second @ params["predictor"], first)
    return one + other


def entry(params, x, y):
    return jax.grad(loss)(params, x, y)


def inputs():
    params = {"encoder": jnp.ones((3, 2)), "predictor": jnp.ones((2, 2))}
    return params, jnp.ones((4, 3)), jnp.ones((4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def distance(prediction, target):
    return jnp.mean((prediction - target) ** 2)


def loss(params, x, y):
    first, second = x @ params["encoder"], y @ params["encoder"]
    one = distance(first @ params["predictor"], jax.lax.stop_gradient(second))
    other = distance(second @ params["predictor"], jax.lax.stop_gradient(first))
    return one + other


def entry(params, x, y):
    return jax.grad(loss)(params, x, y)


def inputs():
    params = {"encoder": jnp.ones((3, 2)), "predictor": jnp.ones((2, 2))}
    return params, jnp.ones((4, 3)), jnp.ones((4, 3))
""",
    source=check_source,
)
