"""Terms of a loss through which no gradient flows at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.gradients.flat_terms import flat_terms
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.stopped_terms import terms_without_gradient
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts

_CUT = (
    "a term of the loss depends on what is differentiated, but only through {}: it adds to the "
    "value, and nothing to the gradient"
)
_CONNECTED = "a path to the term on which every operation has a derivative"
_SMOOTH = (
    "use a smooth form (interpolation, softmax, sigmoid) or a straight-through estimator; or leave "
    "the term out of the loss"
)


def check(facts: Facts) -> Iterator[Finding]:
    """Report terms that look as if they trained something and do not."""
    from ...trace.flat_terms import flat_terms
    from ...trace.stopped_terms import terms_without_gradient

    for flow in facts.gradients.flows:
        for link in flat_terms(facts, flow):
            yield RULE.finding(
                facts.place(link.step),
                current=_CUT.format(link.blocker),
                expected=_CONNECTED,
                fix=_SMOOTH,
                evidence=(Evidence("differentiated here", facts.place(flow.step)),),
            )
        for _, step in terms_without_gradient(flow):
            if facts.is_users(step):
                yield RULE.finding(
                    facts.place(step),
                    current="this term of the loss is made from stopped values only: it trains "
                    "nothing, although it depends on differentiated inputs",
                    expected="a gradient from the error to the prediction in it",
                    fix="apply stop_gradient where the value is used as a weight or a target, and "
                    "leave it connected here",
                    evidence=(Evidence("differentiated here", facts.place(flow.step)),),
                )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    for flow in flows(facts):
        for node, reason in flat_terms(flow):
            if node.place is not None:
                yield RULE.finding(
                    node.place,
                    current=_CUT.format(reason),
                    expected=_CONNECTED,
                    fix=_SMOOTH,
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )
        for node in terms_without_gradient(flow) if flow.is_certain else ():
            if node.place is not None:
                yield RULE.finding(
                    node.place,
                    current="this term of the loss is made from stopped values only: it trains "
                    "nothing, although it depends on differentiated inputs",
                    expected="a gradient from the error to the prediction in it",
                    fix="apply stop_gradient where the value is used as a weight or a target, and "
                    "leave it connected here",
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )


RULE = Rule(
    code="GR011",
    name="term-without-gradient",
    title="A term of the loss trains nothing",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A squared or absolute error whose argument is the result of `stop_gradient` adds to the value of a
loss and nothing to its gradient. That happens when an error is stopped once, for its use as a
weight, and then used again as the loss of what it should train.

So does a term that the parameters reach only through an integer, a comparison or a rounding, such
as a cost that is looked up in a table: beside other terms nobody notices that it trains nothing.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(params, x, log_probs, returns):
    advantage = jax.lax.stop_gradient(returns - x @ params["v"])
    policy = -jnp.mean((log_probs + x @ params["pi"]) * advantage)
    return policy + jnp.mean(advantage**2)

def entry(params, x, log_probs, returns):
    return jax.grad(loss)(params, x, log_probs, returns)

def inputs():
    return {"v": jnp.ones(3), "pi": jnp.ones(3)}, jnp.ones((5, 3)), jnp.ones(5), jnp.ones(5)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(params, x, log_probs, returns):
    advantage = returns - x @ params["v"]
    policy = -jnp.mean((log_probs + x @ params["pi"]) * jax.lax.stop_gradient(advantage))
    return policy + jnp.mean(advantage**2)

def entry(params, x, log_probs, returns):
    return jax.grad(loss)(params, x, log_probs, returns)

def inputs():
    return {"v": jnp.ones(3), "pi": jnp.ones(3)}, jnp.ones((5, 3)), jnp.ones(5), jnp.ones(5)
""",
    trace=check,
    source=check_source,
)
