"""Derivatives written by hand of which a part is not multiplied by what comes in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.queries.gradients.linear_rules import unscaled
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Parts of what a rule returns that know nothing of its tangents, or of its cotangent."""
    for it in unscaled(facts):
        place = it.place
        if place is None:
            continue
        yield RULE.finding(
            place,
            current=f"the rule of `{it.function}` returns something, or a sum with a part, that is "
            f"not made from a {it.given}",
            expected=f"every part of a derivative is a product with a {it.given}",
            fix=f"multiply the part by the {it.given} that it belongs to",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="GR020",
    name="rule-not-linear",
    title="A custom derivative is not linear",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
The tangent that a `custom_jvp` rule returns is a sum of products, each with the tangent of an
argument; the cotangents that a backward rule returns are products with the one that it is given.
Where one of these factors is forgotten, the result is right as long as the function is the last in
a program, whose cotangent is one, and wrong by the chain rule everywhere else.

Zeros and other constants are left alone. So is a result beside one that is linear: some rules pass
out numbers of another kind in place of a gradient.""",
    wrong="""\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def energy(x):
    return jnp.sum(x**3)


def forward(x):
    return energy(x), x


def backward(x, g):
    return (3 * x**2,)


energy.defvjp(forward, backward)


def entry(x):
    return jax.grad(lambda x: jnp.log(energy(x)))(x)


def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def energy(x):
    return jnp.sum(x**3)


def forward(x):
    return energy(x), x


def backward(x, g):
    return (3 * x**2 * g,)


energy.defvjp(forward, backward)


def entry(x):
    return jax.grad(lambda x: jnp.log(energy(x)))(x)


def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
