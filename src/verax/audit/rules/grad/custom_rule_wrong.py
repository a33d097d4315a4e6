"""Derivatives written by hand that are not those of their function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity, Verified
from ...source.events import Fact
from ...source.queries.gradients.elementwise import has_slopes
from ...source.queries.gradients.zero_rules import dropped_cotangents
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.custom_rules import CustomRule
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding | Verified]:
    """Report rules that disagree with the function at random points; list those that agree."""
    for it in facts.custom_rules:
        if it.verdict == "wrong":
            yield _finding(facts, it)
        elif it.verdict == "other value":
            yield _other_value(facts, it)
        elif it.verdict == "agrees":
            yield RULE.verified(
                f"the custom derivative of `{it.function}` agrees with the function at random "
                "points",
                "both were run there, and the rule is linear in what it is given",
                it.place,
            )


def _finding(facts: Facts, it: CustomRule) -> Finding:
    which = it.step.inputs[it.argument].name or f"argument {it.argument}"
    how, fix = _in_words(it.function, it.ratio)
    return RULE.finding(
        it.place,
        current=f"the custom derivative of `{it.function}` with respect to `{which}` {how}, at "
        "random points",
        expected="the derivative of the function",
        fix=fix,
        evidence=(Evidence(f"`{it.function}` is called here", facts.place(it.step)),),
    )


def _other_value(facts: Facts, it: CustomRule) -> Finding:
    which = f", as result {it.argument}" if len(it.step.outputs) > 1 else ""
    return RULE.finding(
        it.place,
        current=f"the rule of `{it.function}` computes another value than the function{which}, at "
        "random points: what is differentiated is not what runs without a gradient",
        expected="the rule returns the value of the function, and its derivative",
        fix=f"call `{it.function}` itself in the rule, or compute the same",
        evidence=(Evidence(f"`{it.function}` is called here", facts.place(it.step)),),
    )


def _in_words(function: str, ratio: float | None) -> tuple[str, str]:
    """How a derivative differs, and what to do."""
    if ratio is None:
        again = f"derive it again; the true one is that of `{function}` without its custom rule"
        return "differs from that of the function", again
    return f"is {ratio:.3g} times that of the function", f"multiply it by {1 / ratio:.3g}"


def check_source(facts: SourceFacts) -> Iterator[Finding | Verified]:
    """Rules that leave out an argument; those of functions by element, computed for numbers."""
    yield from _dropped(facts)
    if not any(it.kind == "derivative run" and has_slopes(it) for it in facts.events(Fact)):
        return
    # Few programs have such rules, and NumPy takes its time to load.
    from ...source.queries.gradients.pointwise import ruled_functions

    for it in ruled_functions(facts):
        wrong = [slope for slope in it.slopes if slope.verdict not in ("agrees", "unknown")]
        for slope in wrong[:1]:
            ratio = slope.verdict if isinstance(slope.verdict, float) else None
            how, fix = _in_words(it.name, ratio)
            yield RULE.finding(
                slope.place or it.place,
                current=f"the custom derivative of `{it.name}` with respect to `{slope.argument}` "
                f"{how}, for numbers in its place",
                expected="the derivative of the function",
                fix=fix,
                evidence=(Evidence(f"`{it.name}` is here", it.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )
        if all(slope.verdict == "agrees" for slope in it.slopes):
            yield RULE.verified(
                f"the custom derivative of `{it.name}` agrees with the function at random points",
                "both were computed there as they are written, and the rule is linear in what it "
                "is given",
                it.place,
            )


def _dropped(facts: SourceFacts) -> Iterator[Finding]:
    """Arguments that get no cotangent, though parameters are trained through them."""
    for it in dropped_cotangents(facts):
        yield RULE.finding(
            it.place,
            current=f"the backward rule of `{it.function}` returns zeros for `{it.argument}`, "
            f"through which the gradient goes to `{it.parameter}`",
            expected="the derivative of the function with respect to each argument that is trained",
            fix=f"return the cotangent of `{it.argument}`; if none is to go there, say so by "
            "stop_gradient where the function is called",
            evidence=(Evidence(f"`{it.function}` is called here", it.applied),),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
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
differentiated at random points, with its rule and without; by reading, one that works element by
element. A rule also computes the value that goes on from there, and by tracing that is held against
the function's own.

Rules that differ on purpose are left alone: of functions that return their argument (gradient
reversal, clipping, scaling), of functions without a derivative (rounding, spikes), rules that bound
a derivative or make it finite, and rules that return zero. One that returns zeros for one argument,
and for others does not, is reported if parameters are trained through that argument.
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
    source=check_source,
)
