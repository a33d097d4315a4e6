"""Derivatives that are infinite at a number which is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.queries.gradients.flows import flows
from ...source.queries.gradients.infinite_slopes import infinite_slopes
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts

_FIX = (
    "keep the operand away from there by a small number with `jnp.maximum`, or choose a safe "
    "operand with `jnp.where` before the operation"
)


def check(facts: Facts) -> Iterator[Verdict]:
    """Roots at zero and the like, in differentiated functions."""
    from ...trace.backward import infinite_slopes
    from ...trace.phrases import phrase
    from ...trace.ranges.interval import shown

    for broken in infinite_slopes(facts):
        point = broken.point
        if point is None:
            continue
        number, name = shown(point.value), phrase(facts, broken.operand)
        origin = point.origin
        yield RULE.finding(
            facts.place(broken.step),
            current=f"{name} can be {number}, where the derivative of {broken.slope.name} is "
            "infinite; the gradient becomes inf, or nan where it is multiplied by zero",
            expected="what is differentiated has a finite derivative at all that it gets",
            fix=_FIX,
            evidence=(Evidence(f"the {number} comes from here", facts.place(origin)),)
            if origin is not None
            else (),
        )


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """The same, where what is cut off or compared with itself goes into such an operation."""
    for flow in flows(facts):
        for it in infinite_slopes(flow):
            place = it.operation.place
            if place is None:
                continue
            name = facts.name_of(Data(it.operand))
            cause = (
                "everything is compared with itself here"
                if it.is_self
                else "it starts with zeros"
                if it.is_start
                else "it is cut off here"
            )
            yield RULE.finding(
                place,
                current=f"`{name}` can be {it.number}, where the derivative of this is infinite; "
                "the gradient becomes inf, or nan where it is multiplied by zero",
                expected="what is differentiated has a finite derivative at all that it gets",
                fix=_FIX,
                evidence=(
                    Evidence(cause, it.origin.place),
                    Evidence("differentiated here", flow.event.place),
                ),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )


RULE = Rule(
    code="GR302",
    name="infinite-derivative",
    title="A derivative is infinite at a number that is reached",
    family="grad",
    severity=Severity.CRITICAL,
    explanation="""\
A square root at zero is zero, and its derivative there is infinite. Where the root's operand was
clipped at zero, the derivative of the clip is zero, and their product is nan. The same goes for
`arccos` at the ends that `clip` leaves to it, for broken powers and for quotients.

Reported inside of differentiated functions, for numbers that the program itself brings about.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(x):
    return jax.grad(lambda x: jnp.sqrt(jnp.maximum(x, 0.0)).sum())(x)


def inputs():
    return (jnp.array([-1.0, 1.0, 4.0]),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(x):
    return jax.grad(lambda x: jnp.sqrt(jnp.maximum(x, 1e-12)).sum())(x)


def inputs():
    return (jnp.array([-1.0, 1.0, 4.0]),)
""",
    trace=check,
    source=check_source,
)
