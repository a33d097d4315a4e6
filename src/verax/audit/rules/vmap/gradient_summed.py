"""Gradients of a mean that are summed over replicas."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Edit, Engine, Evidence, Finding, Severity
from ...source.edits import replaced
from ...source.queries.gradients.summed_gradients import summed_gradients
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Fact
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Sums over an axis of gradients of what each replica took the mean of."""
    for found in summed_gradients(facts):
        axis = found.fact.data["axes"][0]
        yield RULE.finding(
            found.fact.place,
            current=f"`{found.fact.text}` adds up the gradients of a loss that every replica along "
            f"{axis} takes the mean of: the step grows with their number",
            expected=f"the gradient of the mean over the whole batch: the mean over {axis}",
            fix="take the mean with `jax.lax.pmean`, or divide by `jax.lax.axis_size`",
            evidence=tuple(Evidence(text, place) for text, place in found.evidence),
            engine=Engine.SOURCE,
            edit=_as_mean(found.fact),
        )


def _as_mean(fact: Fact) -> Edit | None:
    """The edit to the mean, where the sum is called by its own name in its module."""
    match fact.syntax:
        case ast.Call(func=ast.Attribute(value=module, attr="psum") as function):
            return replaced(fact.frame, function, "{}.pmean", module)
        case _:
            return None


RULE = Rule(
    code="VM007",
    name="gradient-summed",
    title="Gradients of a mean are summed over replicas",
    family="vmap",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A loss that is a mean over a device's own part of the batch has to be averaged over the devices, and
so has its gradient. `psum` adds the gradients up: with eight devices every step is eight times as
long, and the learning rate means something else on another machine.
Reported where the summed gradient is not divided by anything afterwards.""",
    wrong="""\
import jax
import jax.numpy as jnp

def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    grad = jax.lax.psum(grad, "replica")
    return w - 0.1 * grad, jax.lax.pmean(loss, "replica")

def entry(w, x):
    return jax.vmap(step, in_axes=(None, 0), axis_name="replica")(w, x)

def inputs():
    return jnp.ones(3), jnp.ones((2, 4, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    grad = jax.lax.psum(grad, "replica") / jax.lax.axis_size("replica")
    return w - 0.1 * grad, jax.lax.pmean(loss, "replica")

def entry(w, x):
    return jax.vmap(step, in_axes=(None, 0), axis_name="replica")(w, x)

def inputs():
    return jnp.ones(3), jnp.ones((2, 4, 3))
""",
    source=check_source,
)
