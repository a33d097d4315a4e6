"""Straight-through estimators with value and gradient exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.straight_through import ReadEstimators, exchanged_at
from ...source.values import Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Value

_EXPECTED = "the value of the quantised operand, and the gradient of the other"
_FIX = (
    "add to the input the difference between its quantised value and itself, and apply "
    "`jax.lax.stop_gradient` to that difference"
)
_EXPECTED_AGAINST = "a gradient that goes where the value goes"
_FIX_AGAINST = "compare the quantised value itself, as it is before it passes a gradient on"


def check(facts: Facts) -> Iterator[Finding]:
    """Report the wrong ones."""
    from ...trace.blame import given_together_at
    from ...trace.straight_through import TracedEstimators

    for flow in facts.gradients.flows:
        estimators = TracedEstimators(flow)
        for it in estimators.exchanged():
            assert it.whole.producer is not None
            place = given_together_at(facts, it.whole.producer, [it.hard, it.soft])
            yield RULE.finding(
                place,
                current="this has the value of the differentiable operand and the gradient of "
                "the quantised one, which is zero",
                expected=_EXPECTED,
                fix=_FIX,
                evidence=_led_there(place, _place(facts, it.whole), facts.place(flow.step)),
            )
        for whole, _, is_gone in estimators.opposed():
            yield RULE.finding(
                _place(facts, whole),
                current="a term is added and taken away, in the gradient as in the value: nothing "
                "of it is left, and what remains has no gradient"
                if is_gone
                else "the value has nothing of a term, and the gradient has it with a minus: it "
                "goes up where this should go down",
                expected=_EXPECTED,
                fix=_FIX,
                evidence=(Evidence("differentiated here", facts.place(flow.step)),),
            )
        for whole, _ in estimators.against():
            yield RULE.finding(
                _place(facts, whole),
                current="the value has a term with one sign, and the gradient has it with the "
                "other: what makes this smaller moves that term the wrong way",
                expected=_EXPECTED_AGAINST,
                fix=_FIX_AGAINST,
                evidence=(Evidence("differentiated here", facts.place(flow.step)),),
            )
        for whole, _ in estimators.mirrored():
            yield RULE.finding(
                _place(facts, whole),
                current="the value has a term twice, less the quantised one: it lies on the other "
                "side of it",
                expected=_EXPECTED,
                fix=_FIX,
                evidence=(Evidence("differentiated here", facts.place(flow.step)),),
            )


def _place(facts: Facts, whole: Value) -> Place:
    assert whole.producer is not None
    return facts.place(whole.producer)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """The wrong ones, by reading."""
    for flow in flows(facts):
        if not flow.is_certain:
            continue
        estimators = ReadEstimators(flow)
        for node, term, is_gone in estimators.opposed():
            if node.place is not None:
                name = facts.name_of(Data(term))
                yield RULE.finding(
                    node.place,
                    current=f"`{name}` is added and taken away, in the gradient as in the value: "
                    "nothing of it is left"
                    if is_gone
                    else f"the value has nothing of `{name}`, and the gradient has it with a "
                    "minus: it goes up where this should go down",
                    expected=_EXPECTED,
                    fix=_FIX,
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )
        for node, term in estimators.against():
            if node.place is not None:
                yield RULE.finding(
                    node.place,
                    current=f"the value has `{facts.name_of(Data(term))}` with one sign, and the "
                    "gradient has it with the other: what makes this smaller moves it the wrong "
                    "way",
                    expected=_EXPECTED_AGAINST,
                    fix=_FIX_AGAINST,
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )
        for node, term in estimators.mirrored():
            if node.place is not None:
                yield RULE.finding(
                    node.place,
                    current=f"the value has `{facts.name_of(Data(term))}` twice, less the "
                    "quantised one: it lies on the other side of it",
                    expected=_EXPECTED,
                    fix=_FIX,
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )
        for it in estimators.exchanged():
            place = exchanged_at(it)
            if place is not None:
                yield RULE.finding(
                    place,
                    current="this has the value of the differentiable operand and the gradient of "
                    "the quantised one, which is zero",
                    expected=_EXPECTED,
                    fix=_FIX,
                    evidence=_led_there(place, it.whole.place, flow.event.place),
                    engine=Engine.SOURCE,
                )


def _led_there(place: Place, added: Place | None, derived: Place) -> tuple[Evidence, ...]:
    is_there = added is None or added == place
    summed = () if is_there else (Evidence("value and gradient come together here", added),)
    return (*summed, Evidence("differentiated here", derived))


RULE = Rule(
    code="GR013",
    name="straight-through-reversed",
    title="A straight-through estimator has value and gradient exchanged",
    family="grad",
    severity=Severity.CRITICAL,
    explanation="""\
`x + stop_gradient(q - x)` has the value of `q` and the gradient of `x`. With the two exchanged,
the program runs without quantisation, and the gradient is that of the quantiser: zero. In
`stop_gradient(q + x) - x` the value is right, and the gradient has the wrong sign; in
`x + stop_gradient(q) - x` nothing is left of it. It has the wrong sign as well where the whole
estimator, and not `q`, is compared with `stop_gradient(x)`. And `x + stop_gradient(x - q)` is
`2 x - q`.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(w, x):
    q = jnp.round(w)
    return jnp.sum(x * (q + jax.lax.stop_gradient(w - q)))

def entry(w, x):
    return jax.grad(loss)(w, x)

def inputs():
    return jnp.ones(3), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(w, x):
    q = jnp.round(w)
    return jnp.sum(x * (w + jax.lax.stop_gradient(q - w)))

def entry(w, x):
    return jax.grad(loss)(w, x)

def inputs():
    return jnp.ones(3), jnp.ones(3)
""",
    trace=check,
    source=check_source,
)
