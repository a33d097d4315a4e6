"""Terms of a loss through which no gradient flows at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Event
from ...source.queries.blame import wrongly_called_at
from ...source.queries.gradients.flat_terms import flat_terms
from ...source.queries.gradients.flows import Flow, flows
from ...source.queries.gradients.stopped_terms import terms_without_gradient
from ...source.values import nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...finding import Place
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.gradients import Flow as TracedFlow
    from ...trace.program import Step

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
    from ...trace.blame import wrongly_called_at
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
                    wrongly_called_at(facts, step, partial(_trains, flow)),
                    current="this term of the loss is made from stopped values only: it trains "
                    "nothing, although it depends on differentiated inputs",
                    expected="a gradient from the error to the prediction in it",
                    fix="apply stop_gradient where the value is used as a weight or a target, and "
                    "leave it connected here",
                    evidence=(Evidence("differentiated here", facts.place(flow.step)),),
                )


def _trains(flow: TracedFlow, step: Step) -> bool:
    return bool(flow.gets(step.outputs[0]))


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
            place = _told_at(facts, flow, node)
            if place is not None:
                yield RULE.finding(
                    place,
                    current="this term of the loss is made from stopped values only: it trains "
                    "nothing, although it depends on differentiated inputs",
                    expected="a gradient from the error to the prediction in it",
                    fix="apply stop_gradient where the value is used as a weight or a target, and "
                    "leave it connected here",
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )


def _told_at(facts: SourceFacts, flow: Flow, node: Node) -> Place | None:
    """Where a term is made: where a function is called that gives a gradient to others."""
    if node.frame is None or node.syntax is None:
        return node.place

    def trains(run: Frame) -> bool:
        return any(flow.gets(it) for _, value in run.returns for it in nodes_of(value))

    return wrongly_called_at(facts, Event(node.syntax, node.frame), trains)


RULE = Rule(
    code="GR011",
    name="term-without-gradient",
    title="A term of the loss trains nothing",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A squared or absolute error whose argument is the result of `stop_gradient` adds to the value of a
loss and nothing to its gradient. That happens when an error is stopped once, for its use as a
weight, and then used again as the loss of what it should train.

So does a term that the parameters reach only through an integer, a comparison or a rounding, such
as a cost that is looked up in a table: beside other terms nobody notices that it trains nothing.
The same holds for what comes of a drawn class (`jax.random.categorical`), unless the loss also asks
for the chance of that class, as the score function does, or passes it straight through.
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
