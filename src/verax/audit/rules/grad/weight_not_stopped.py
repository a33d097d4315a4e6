"""Weights of a term, such as advantages, that carry a gradient into what another term trains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.weightings import weightings
from ...source.queries.nodes import position_in
from .._rule import Rule

if TYPE_CHECKING:
    from ...finding import Place
    from ...source.facts import SourceFacts
    from ...source.queries.gradients.flows import Flow
    from ...source.queries.gradients.weightings import Weighting
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report products with such a weight."""
    from ...trace.weightings import weightings

    for flow in facts.gradients.flows:
        for it in weightings(flow):
            names = [p.name for p in flow.parameters if p.bit & flow.gets(it.factor)]
            shown = ", ".join(f"`{name}`" for name in names[:3]) + (", …" if names[3:] else "")
            if it.other_stopped:
                current = (
                    "the wrong factor of this product is stopped: the gradient flows into "
                    f"{shown}, which another term trains, and not into the other factor"
                )
            else:
                current = (
                    "one factor of this product is an error that another term makes small; its "
                    f"gradient into {shown} flows here as well, and works against that term"
                )
            yield RULE.finding(
                facts.place(it.product),
                current=current,
                expected="the factor is a constant weight here",
                fix="apply `jax.lax.stop_gradient` to the factor in this product; "
                "leave it connected in the other term",
                evidence=(Evidence("the term that trains it", facts.place(it.error.step)),),
            )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    for flow in flows(facts):
        for it in weightings(flow):
            place, others = _places(flow, it)
            if place is None:
                continue
            names = [flow.name(p.node) for p in flow.parameters if p.bit & flow.gets(it.factor)]
            shown = ", ".join(f"`{name}`" for name in names[:3]) + (", …" if names[3:] else "")
            what = (
                "an error that another term makes small"
                if it.error.parts
                else ("what another term trains, by this number as a constant")
            )
            yield RULE.finding(
                place,
                current=f"one factor of a product is {what}; its "
                f"gradient into {shown} flows here as well, and works against that term",
                expected="the factor is a constant weight here",
                fix="apply `jax.lax.stop_gradient` to the factor in this product; "
                "leave it connected in the other term",
                evidence=(*others, Evidence("the term that trains it", it.error.node.place)),
                engine=Engine.SOURCE,
            )


def _places(flow: Flow, weighting: Weighting) -> tuple[Place | None, tuple[Evidence, ...]]:
    """Where to stop the gradient, and where the product is if a function gets the factor ready.

    What the other term is made from as well has to be stopped where it is handed in.
    """
    product, factor = weighting.product, weighting.handed
    is_shared = factor in flow.slice([weighting.error.node])
    frame, inner = product.frame, None
    while frame is not None:
        made_at = position_in(frame, factor)
        if made_at is not None and inner is not None:
            handed_at = inner.called_at if is_shared else None
            return frame.place(handed_at or made_at), (Evidence("the product", product.place),)
        frame, inner = (frame.caller if made_at is None else None), frame
    return product.place, ()


RULE = Rule(
    code="GR015",
    name="weight-not-stopped",
    title="A weight carries a gradient into what another term trains",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A policy-gradient term multiplies log-probabilities with advantages, `returns - value`. With the
gradient of the advantage not stopped, the term also trains the critic: to make advantages large
where actions are unlikely. The critic's own term, the squared advantage, is where its gradient
belongs.

The rule looks for a product in the loss, both factors of which have a gradient, where one is a
difference to data whose prediction another term fits by its square; and for one with a trained
number, a temperature, by which another term weighs the same thing with the number stopped.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(params, x, returns):
    log_probs = jax.nn.log_sigmoid(x @ params["pi"])
    advantage = returns - x @ params["v"]
    return -jnp.mean(log_probs * advantage) + jnp.mean(advantage**2)

def entry(params, x, returns):
    return jax.grad(loss)(params, x, returns)

def inputs():
    return {"pi": jnp.ones(3), "v": jnp.ones(3)}, jnp.ones((5, 3)), jnp.ones(5)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(params, x, returns):
    log_probs = jax.nn.log_sigmoid(x @ params["pi"])
    advantage = returns - x @ params["v"]
    weight = jax.lax.stop_gradient(advantage)
    return -jnp.mean(log_probs * weight) + jnp.mean(advantage**2)

def entry(params, x, returns):
    return jax.grad(loss)(params, x, returns)

def inputs():
    return {"pi": jnp.ones(3), "v": jnp.ones(3)}, jnp.ones((5, 3)), jnp.ones(5)
""",
    trace=check,
    source=check_source,
)
