"""Temporal-difference targets that are trained together with the prediction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Event
from ...source.queries.arrays import origin
from ...source.queries.blame import given_together_at
from ...source.queries.gradients.bootstraps import bootstraps
from ...source.queries.gradients.collapses import collapses
from ...source.queries.gradients.flows import Flow, flows
from ...source.queries.gradients.loss_terms import viewed, views
from ...source.queries.gradients.soft_targets import soft_bootstraps
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...finding import Place
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...trace.facts import Facts


_NEAR = 2  # lines


def check(facts: Facts) -> Iterator[Finding]:
    """Report errors whose target carries a gradient into the parameters of the prediction."""
    from ...trace.blame import given_together_at
    from ...trace.bootstraps import bootstraps
    from ...trace.meaning.copies import root
    from ...trace.soft_targets import soft_bootstraps

    for flow in facts.gradients.flows:
        for it in (*bootstraps(flow), *soft_bootstraps(flow)):
            made = root(it.error.value).producer or it.error.step
            target = it.bootstrapped.producer
            sides = made.inputs if made.primitive == "sub" else []
            makers = [
                root(side).producer for side in sides if it.bootstrapped in flow.slice([side])
            ]
            places = [facts.place(step) for step in makers if step is not None]
            compared = given_together_at(facts, made, [root(it) for it in sides])
            both = flow.gets(it.prediction) & flow.gets(it.bootstrapped)
            names = [p.name for p in flow.parameters if p.bit & both]
            shown = ", ".join(f"`{name}`" for name in names[:3]) + (", …" if names[3:] else "")
            through = (
                "through the prediction and through the bootstrapped target, which moves towards "
                "the prediction"
                if it.prediction in flow.slice([it.error.value])
                else "through the bootstrapped target, while the prediction is stopped"
            )
            yield RULE.finding(
                _told_at(compared, places),
                current=f"the gradient with respect to {shown} flows {through}",
                expected="the target is a constant, such as data + discount * next value",
                fix="apply `jax.lax.stop_gradient` to the target, or compute it with parameters "
                "that are not differentiated",
                evidence=_led_there(
                    facts.place(made), compared, None if target is None else facts.place(target)
                ),
            )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The same, by reading."""
    for flow in flows(facts):
        for it in (*bootstraps(flow), *soft_bootstraps(flow), *collapses(flow)):
            made, target = origin(it.error.made), it.bootstrapped.place
            if made.place is None:
                continue
            is_difference = made.operation == "-" or made in flow.context.calls
            sides = made.inputs if is_difference else ()
            makers = [viewed(side) for side in sides if it.bootstrapped in flow.slice([side])]
            places = [node.place for node in makers if node.place is not None]
            compared = _compared_at(flow, made, sides or (it.prediction, it.bootstrapped))
            both = flow.gets(it.prediction) & flow.gets(it.bootstrapped)
            both = both or flow.gets(it.bootstrapped)
            names = [flow.name(p.node) for p in flow.parameters if p.bit & both]
            shown = ", ".join(f"`{name}`" for name in names[:3]) + (", …" if names[3:] else "")
            through = (
                "through the bootstrapped target, while the prediction is stopped"
                if it.prediction_stopped
                else "through the prediction and through the bootstrapped target, which moves "
                "towards the prediction"
            )
            yield RULE.finding(
                _told_at(compared, places),
                current=f"the gradient with respect to {shown} flows {through}",
                expected="the target is a constant, such as data + discount * next value",
                fix="apply `jax.lax.stop_gradient` to the target, or compute it with parameters "
                "that are not differentiated",
                evidence=_led_there(made.place, compared, target),
                engine=Engine.SOURCE,
            )


def _compared_at(flow: Flow, made: Node, sides: tuple[Node, ...]) -> Place:
    """Where a prediction and a target are handed to what compares them, or are compared."""
    assert made.place is not None
    if made.frame is None or made.syntax is None:
        return made.place
    given = {it.node for it in made.frame.given.values() if isinstance(it, Data)}
    taken = [_taken(flow, given, side) for side in sides]
    return given_together_at(Event(made.syntax, made.frame), [Data(it) for it in taken])


def _taken(flow: Flow, given: set[Node], side: Node) -> Node:
    """What a function was given for one side: the value, or the one thing that is made from."""
    view = next((it for it in views(side) if it in given), None)
    made_from = [it for it in given & flow.slice([side]) if it not in flow.primals]
    moving = [it for it in made_from if flow.gets(it)]
    return view or (moving[0] if len(moving) == 1 else side)


def _led_there(made: Place, compared: Place, target: Place | None) -> tuple[Evidence, ...]:
    of_target = () if target is None else (Evidence("the bootstrapped value", target),)
    return of_target if made == compared else (*of_target, Evidence("compared here", made))


def _told_at(compared: Place, targets: list[Place]) -> Place:
    """Where a target is put together, which is to be stopped, if that is next to where it is used.

    What another function gives, or is far from the comparison, may be right for others.
    """
    for target in targets if len(targets) == 1 else ():
        is_there = (target.file, target.function) == (compared.file, compared.function)
        if is_there and 0 <= compared.line - target.line <= _NEAR:
            return target
    return compared


RULE = Rule(
    code="GR014",
    name="target-not-stopped",
    title="The gradient flows through a bootstrapped target",
    family="grad",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
In temporal-difference learning, the target `reward + discount * value(next)` stands for data. If
its gradient is not stopped, the loss is made smaller by moving the target as well, and the
parameters do not converge to the values.

The rule looks for a squared error between a prediction and a sum of data and a scaled prediction of
the same model, both with a gradient; or of another model, which is fitted to this one's stopped
prediction; and for a cross-entropy whose wanted distribution is a prediction of the same model,
with data in it or sharper than the other one. A loss that compares predictions of one model with
one another, and with nothing else, is made small by a model that gives the same for everything,
unless the side without a predictor is stopped.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(params, now, reward, after):
    value = jnp.tanh(now @ params["w"])
    target = reward + 0.9 * jnp.tanh(after @ params["w"])
    return jnp.mean((value - target) ** 2)

def entry(params, now, reward, after):
    return jax.grad(loss)(params, now, reward, after)

def inputs():
    return {"w": jnp.ones(3)}, jnp.ones((5, 3)), jnp.ones(5), jnp.ones((5, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(params, now, reward, after):
    value = jnp.tanh(now @ params["w"])
    target = reward + 0.9 * jnp.tanh(after @ params["w"])
    return jnp.mean((value - jax.lax.stop_gradient(target)) ** 2)

def entry(params, now, reward, after):
    return jax.grad(loss)(params, now, reward, after)

def inputs():
    return {"w": jnp.ones(3)}, jnp.ones((5, 3)), jnp.ones(5), jnp.ones((5, 3))
""",
    trace=check,
    source=check_source,
)
