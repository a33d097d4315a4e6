"""Derivatives that are infinite at a number which is reached."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


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
            fix="keep the operand away from there by a small number, `jnp.sqrt(jnp.maximum(x, "
            "1e-12))`, or choose a safe operand with `jnp.where` before the operation",
            evidence=(Evidence(f"the {number} comes from here", facts.place(origin)),)
            if origin is not None
            else (),
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
)
