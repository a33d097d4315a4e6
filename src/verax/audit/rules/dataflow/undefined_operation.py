"""Logarithms, roots and quotients of numbers for which they are not defined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.queries.numbers.cosines import of_cosines
from ...source.queries.numbers.empty_segments import by_empty_segments
from ...source.queries.numbers.ends import at_ends
from ...source.queries.numbers.logarithms import of_zero
from ...source.queries.numbers.moments import of_moments
from ...source.queries.numbers.zero_divisors import by_zero
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.hazards import Hazard


def check(facts: Facts) -> Iterator[Verdict]:
    """Hazards that are reached and not chosen away; and those that bounds rule out."""
    from ...trace.hazards import does_harm, hazards
    from ...trace.phrases import phrase
    from ...trace.ranges.interval import shown

    for hazard in hazards(facts):
        operation = hazard.domain.name
        if hazard.is_ruled_out or hazard.point is None or not does_harm(facts, hazard):
            continue
        name = phrase(facts, hazard.operand)
        number = shown(hazard.point.value)
        by = "by" if operation == "division" else "of"
        yield RULE.finding(
            facts.place(hazard.step),
            current=f"{operation} {by} {name}, which can be {number}, gives {hazard.result}",
            expected=f"what {operation} gets is {hazard.domain.allowed}",
            fix=_FIXES.get(operation, _FIXES["division"]),
            evidence=_evidence(facts, hazard, number),
        )
    yield from _verified(facts)
    yield from _noisy(facts)


def _verified(facts: Facts) -> Iterator[Verdict]:
    """Operations of one line whose operands are all within bounds for which they are defined."""
    from ...trace.hazards import ruled_out
    from ...trace.phrases import line_phrase, phrase

    for found in ruled_out(facts):
        step, domain = found[0].step, found[0].domain
        by = "by" if domain.name == "division" else "of"
        which = line_phrase(facts, step, by, [it.operand for it in found])
        bounds = dict.fromkeys(f"{phrase(facts, it.operand)} is {_bounds(it)}" for it in found)
        yield RULE.verified(
            f"{domain.name} {which} is defined for all that it can get",
            f"{', '.join(bounds)}, and has to be {domain.allowed}",
            facts.place(step),
        )


def _noisy(facts: Facts) -> Iterator[Verdict]:
    """Operations on a carry to which noise is added in each turn of a loop."""
    from ...trace.noise import exposed_to_noise
    from ...trace.phrases import phrase

    for it in exposed_to_noise(facts):
        domain, step, added = it.hazard.domain, it.hazard.step, it.added
        yield RULE.finding(
            facts.place(step),
            current=f"{domain.name} of {phrase(facts, it.hazard.operand)}, to which a loop adds "
            f"noise that has no bounds: once it is not {domain.allowed}, the result is nan",
            expected=f"what {domain.name} gets is {domain.allowed}",
            fix=_FIXES.get(domain.name, _FIXES["division"]),
            evidence=(Evidence("noise is added here, in each turn", facts.place(added)),)
            if added is not None
            else (),
            confidence=Confidence.LIKELY,
        )


def _bounds(hazard: Hazard) -> str:
    text = str(hazard.interval)
    return f"in {text}" if text.startswith("[") else text


def _evidence(facts: Facts, hazard: Hazard, number: str) -> tuple[Evidence, ...]:
    from ...trace.phrases import phrase

    point = hazard.point
    if point is None or point.origin is None or point.origin is hazard.step:
        return ()
    place = facts.place(point.origin)
    made = phrase(facts, point.origin.outputs[0])
    return (Evidence(f"{made} is where the {number} comes from", place),)


_FIXES = {
    "log": "choose positive numbers with `jnp.where` before the logarithm, or compute it directly "
    "(`jax.nn.log_softmax`)",
    "log1p": "keep the argument above -1 before the logarithm is taken",
    "sqrt": "clip at zero before the root with `jnp.maximum`; for a gradient, above zero",
    "rsqrt": "add a small positive number before the root",
    "division": "replace zeros with `jnp.where` before dividing, or keep the divisor away from "
    "zero with `jnp.maximum`",
    "arccos": "clip to -1..1 with `jnp.clip` first",
    "arcsin": "clip to -1..1 with `jnp.clip` first",
    "arccosh": "raise to at least 1 with `jnp.maximum` first",
    "arctanh": "clip to a little less than -1..1 with `jnp.clip` first",
    "a broken power": "clip at zero with `jnp.maximum`, or take `jnp.abs`, before the power",
}


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Logarithms of zeros that the program has put there, means of nothing, roots of rounding."""
    for quotient, count in by_empty_segments(facts):
        if quotient.place is not None:
            yield RULE.finding(
                quotient.place,
                current="a division by how many elements each segment has: one that has none "
                "gives nan",
                expected="the operation gets only numbers for which it is defined",
                fix="divide by at least one, with `jnp.maximum`",
                evidence=(Evidence("the elements are counted here", count.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )

    for it in by_zero(facts):
        if it.quotient.place is not None:
            yield RULE.finding(
                it.quotient.place,
                current=f"a division by what is zero: {it.why}; zero by zero is nan",
                expected="the operation gets only numbers for which it is defined",
                fix=_FIXES["division"],
                evidence=(Evidence(it.why, it.origin.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )

    for found in of_moments(facts):
        if found.call.place is not None:
            yield RULE.finding(
                found.call.place,
                current=f"`{found.name}` of a mean of squares less the square of the mean: where "
                "the spread is small, rounding makes it negative, and the result nan",
                expected="the operation gets only numbers for which it is defined",
                fix="bound it below by zero with `jnp.maximum`, or average the squared "
                "differences from the mean",
                evidence=(Evidence("the difference is taken here", found.difference.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )

    for angle in of_cosines(facts):
        if angle.call.place is not None:
            yield RULE.finding(
                angle.call.place,
                current=f"`{angle.name}` of the cosine of two vectors as it was computed: where "
                "they are parallel, rounding takes it beyond one, and the result is nan",
                expected="the operation gets only numbers for which it is defined",
                fix=_FIXES["arccos" if "cos" in angle.name else "arcsin"],
                evidence=(Evidence("the cosine is computed here", angle.cosine.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )

    for found in at_ends(facts):
        if found.call.place is not None:
            yield RULE.finding(
                found.call.place,
                current=f"`{found.name}` of what is cut off at {found.end:g}, where it is infinite",
                expected="the operation gets only numbers for which it is defined",
                fix="clip a little earlier, so that the end itself is never reached",
                evidence=(Evidence("it is cut off here", found.clip.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )

    for it in of_zero(facts):
        place = it.node.place
        if place is not None:
            yield RULE.finding(
                place,
                current=f"the logarithm of `{facts.name_of(Data(it.operand))}`, which can be zero: "
                f"{it.why}; the result is -inf, and zero times it nan",
                expected="the operation gets only numbers for which it is defined",
                fix="choose a safe operand with `jnp.where` first, or take `jax.nn.log_softmax` "
                "of the logits",
                evidence=(Evidence(it.why, it.origin.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )


RULE = Rule(
    code="DF201",
    name="undefined-operation",
    title="An operation gets numbers for which it is not defined",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
A logarithm of zero is -inf, a root of a negative number nan, and either soon spreads: zero times
-inf is nan, and a mean over a batch with one nan is nan.

Reported only where the program itself brings such a number about: a probability that is exactly
zero because its logit was masked with a large negative number, the zeros of `relu`, the first
element of `arange`, the ends of a declared range, the count of a segment to which nothing belongs,
or of what never occurs, a carry to which noise without bounds is added in each turn of a loop, the
rounding of a mean of squares less the square of the mean, be they
moving averages, or of the cosine of two vectors whose angle is taken, and what is cut off where the
operation is infinite.
A value of which nothing is known is never reported, nor one that a `where` leaves out later.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(scores, allowed):
    probs = jax.nn.softmax(jnp.where(allowed, scores, -1e9))
    return -jnp.sum(probs * jnp.log(probs))


def inputs():
    return jnp.array([0.1, 0.7, -0.3]), jnp.array([True, False, True])
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(scores, allowed):
    probs = jax.nn.softmax(jnp.where(allowed, scores, -1e9))
    return -jnp.sum(probs * jnp.log(jnp.where(probs > 0, probs, 1.0)))


def inputs():
    return jnp.array([0.1, 0.7, -0.3]), jnp.array([True, False, True])
""",
    trace=check,
    source=check_source,
)
