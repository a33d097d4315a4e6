"""Derivatives written by hand that are not those of their function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Finding, Severity, Verified
from .._rule import Rule

if TYPE_CHECKING:
    from ...trace.custom_rules import CustomRule
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding | Verified]:
    """Report rules that disagree with the function at random points; list those that agree."""
    for it in facts.custom_rules:
        if it.verdict == "wrong":
            yield _finding(facts, it)
        elif it.verdict == "agrees":
            yield RULE.verified(
                f"the custom derivative of `{it.function}` is that of the function",
                "rule and function were run at random points, and the derivatives agree",
                it.place,
            )


def _finding(facts: Facts, it: CustomRule) -> Finding:
    which = it.step.inputs[it.argument].name or f"argument {it.argument}"
    if it.ratio is None:
        how = "differs from that of the function"
        fix = f"derive it again; the true one is that of `{it.function}` without its custom rule"
    else:
        how = f"is {it.ratio:.3g} times that of the function"
        fix = f"multiply it by {1 / it.ratio:.3g}"
    return RULE.finding(
        it.place,
        current=f"the custom derivative of `{it.function}` with respect to `{which}` {how}, at "
        "random points",
        expected="the derivative of the function",
        fix=fix,
        evidence=(Evidence(f"`{it.function}` is called here", facts.place(it.step)),),
    )


RULE = Rule(
    code="GR017",
    name="custom-rule-wrong",
    title="A custom derivative is not that of its function",
    family="grad",
    severity=Severity.CRITICAL,
    explanation="""\
JAX takes a `custom_jvp` or `custom_vjp` rule at its word. A missing factor or a wrong sign trains
in the wrong direction without any error. Each such function of the audited program is
differentiated at random points, with its rule and without.

Rules that differ on purpose are left alone: of functions that return their argument (gradient
reversal, clipping, scaling), of functions without a derivative (rounding, spikes), rules that bound
a derivative or make it finite, and rules that return zero.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.custom_jvp
def power(x):
    return x**3

@power.defjvp
def power_rule(primals, tangents):
    (x,), (dx,) = primals, tangents
    return x**3, 2 * x**2 * dx

def entry(x):
    return jax.grad(lambda x: jnp.sum(power(x)))(x)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.custom_jvp
def power(x):
    return x**3

@power.defjvp
def power_rule(primals, tangents):
    (x,), (dx,) = primals, tangents
    return x**3, 3 * x**2 * dx

def entry(x):
    return jax.grad(lambda x: jnp.sum(power(x)))(x)

def inputs():
    return (jnp.ones(3),)
""",
    trace=check,
)
