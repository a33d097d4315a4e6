"""A scan that hands its carry on as it came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Evidence, Severity, Verified
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Scans that compute a new state and return the old one."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        if step.kind != "scan" or (step.detail.length or 0) < 2:
            continue
        loop = step.detail
        changed = [a is not b for a, b in zip(loop.carry, loop.carried, strict=True)]
        used = [carry for carry in loop.carry if carry.consumers]
        if loop.carry and not any(changed) and used:
            dropped = _dropped_updates(facts, step, used)
            place = step.bodies[0].place or facts.place(step)
            yield RULE.finding(
                facts.sources.returned(place) or place,
                current=f"the body returns the carry that it was given "
                f"({', '.join(str(tensor_of(facts, it)) for it in loop.carry)}), so all "
                f"{loop.length} iterations start from the initial value",
                expected="an iteration hands on the state that it computed",
                fix="return the updated state as the first element of the body's result; pass what "
                "is constant by closure",
                confidence=Confidence.CERTAIN if dropped else Confidence.LIKELY,
                evidence=dropped,
            )
        elif all(changed) and changed:
            yield _verified(facts, step)


def _verified(facts: Facts, step: Step) -> Verified:
    from ...trace.describe import tensor_of

    loop, place = step.detail, facts.place(step)
    carries = ", ".join(str(tensor_of(facts, carry)) for carry in loop.carry[:4])
    more = f" and {len(loop.carry) - 4} more" if len(loop.carry) > 4 else ""
    return RULE.verified(
        f"scan at line {place.line}: carry ({carries}{more}) is constant in type and updated",
        "it has the same structure, shape, dtype and weak type in and out, and every leaf is made "
        "anew in each iteration",
        place,
    )


def _dropped_updates(facts: Facts, step: Step, used: list[Value]) -> tuple[Evidence, ...]:
    """Values of the carry's own types that the body makes from it and nobody uses."""
    from ...trace.describe import name_of
    from ...trace.recurrence import reached_from

    types = {(it.shape, str(it.dtype)) for it in used}
    found: list[Evidence] = []
    for carry in used:
        for value in reached_from(facts.variation, step, carry):
            unused = value.producer is not None and value not in facts.live
            if unused and value.producer is not step and (value.shape, str(value.dtype)) in types:
                place = value.producer.place if value.producer else None
                found.append(Evidence(f"{name_of(facts, value)} is computed and dropped", place))
    return tuple(dict.fromkeys(found))[:4]


RULE = Rule(
    code="SC002",
    name="carry-never-changes",
    title="The carry of a scan never changes",
    family="scan",
    severity=Severity.CRITICAL,
    explanation="""\
The body of a scan returns the carry that it was given. Whatever it computed in the meantime is
lost, and every iteration starts from the initial state again: a filter that does not advance, a
simulation that stands still.

Reported when no leaf of the carry changes although the body reads it. A carry that is constant in
some of its leaves is common, and not reported.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(start, measured):
    def step(pos, seen):
        new = pos + 0.5 * (seen - pos)
        return pos, new

    return jax.lax.scan(step, start, measured)


def inputs():
    return jnp.zeros(2), jnp.ones((6, 2))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(start, measured):
    def step(pos, seen):
        new = pos + 0.5 * (seen - pos)
        return new, new

    return jax.lax.scan(step, start, measured)


def inputs():
    return jnp.zeros(2), jnp.ones((6, 2))
""",
    trace=check,
)
