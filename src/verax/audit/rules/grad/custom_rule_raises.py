"""Derivatives written by hand that JAX will not accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.queries.gradients.custom_derivatives import misfits
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report rules that raise, of functions that the program differentiates."""
    for it in facts.custom_rules:
        derived = any(owner.kind == "derive" for owner in it.step.ancestors())
        if it.verdict == "raises" and derived:
            yield RULE.finding(
                it.place,
                current=f"differentiating `{it.function}` raises: {it.message}",
                expected="for each argument a cotangent of its own structure, shape and dtype, or "
                "for each result a tangent",
                fix=_FIX,
                evidence=(Evidence(f"`{it.function}` is called here", facts.place(it.step)),),
            )


_FIX = (
    "return one derivative for each differentiable argument, of the same shape; "
    "where an argument was broadcast, sum its cotangent over the broadcast axes"
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report rules whose arguments, results or shapes visibly do not fit."""
    for it in misfits(facts):
        yield RULE.finding(
            it.place,
            current=f"the derivative of `{it.function}` does not fit: {it.message}",
            expected="for each argument a cotangent of its own structure, shape and dtype, or "
            "for each result a tangent",
            fix=_FIX,
            evidence=()
            if it.returned in (None, it.place)
            else (Evidence("returned here", it.returned),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="GR016",
    name="custom-rule-raises",
    title="A custom derivative does not fit its function",
    family="grad",
    severity=Severity.ERROR,
    exact="the rule is run as JAX would run it, and raises",
    explanation="""\
The backward rule of a `custom_vjp` returns one cotangent for each argument, with the shape of that
argument; the rule of a `custom_jvp` returns a tangent with the shape of the result. An argument
that was broadcast in the function gets the sum of the cotangent over the broadcast axes.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.custom_vjp
def shift(x, b):
    return x + b

def forward(x, b):
    return x + b, None

def backward(_, g):
    return g, g

shift.defvjp(forward, backward)

def entry(x, b):
    return jax.grad(lambda b: jnp.sum(shift(x, b)))(b)

def inputs():
    return jnp.ones((4, 3)), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.custom_vjp
def shift(x, b):
    return x + b

def forward(x, b):
    return x + b, None

def backward(_, g):
    return g, g.sum(axis=0)

shift.defvjp(forward, backward)

def entry(x, b):
    return jax.grad(lambda b: jnp.sum(shift(x, b)))(b)

def inputs():
    return jnp.ones((4, 3)), jnp.ones(3)
""",
    trace=check,
    source=check_source,
)
