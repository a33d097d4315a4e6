"""Differences and running sums from one independent example to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.axes import names_of
from ...source.queries.arrays import array_in_words
from ...source.queries.numbers.neighbours import neighbour_relations, shifts
from ...words import is_environment, is_feature, is_separate, is_sequence
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.facts import Facts
    from ...trace.program import Step, Value

_CUMULATIVE = {"cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"}


def check(facts: Facts) -> Iterator[Verdict]:
    """Operations that relate neighbours along an axis on which there are none."""
    from ...trace.describe import tensor_of

    for step in facts.steps:
        for value, axis, what in _neighbour_relations(step):
            names = facts.axes.names(value)
            time = next((name for name in names if is_sequence(name)), None)
            over = names[axis]
            if time is None or over == time or not is_separate(over):
                continue
            yield RULE.finding(
                facts.place(step),
                current=f"{what} of {tensor_of(facts, value)} goes along {over}, from one "
                f"independent element to the next",
                expected=f"it goes along {time}",
                fix=f"use axis {names.index(time)} (`{time}`) instead of axis {axis}",
            )


def _neighbour_relations(step: Step) -> Iterator[tuple[Value, int, str]]:
    """What a step does along an axis that only makes sense in order."""
    if step.primitive in _CUMULATIVE:
        yield step.inputs[0], step.params["axis"], f"a {step.primitive}"
    elif step.kind == "operation" and len(step.inputs) == 2:
        first, second = (_shifted(value) for value in step.inputs)
        if first and second and first[0] is second[0] and first[1] == second[1]:
            shifted = first[2] != second[2]
            if shifted:
                yield first[0], first[1], "a difference of neighbours"


def _shifted(value: Value) -> tuple[Value, int, int] | None:
    """The array, axis and start of a slice that leaves out one end of one axis."""
    step = value.producer
    if step is None or step.primitive != "slice":
        return None
    source = step.inputs[0]
    cut = [
        index
        for index, (n, m) in enumerate(zip(value.shape, source.shape, strict=True))
        if n == m - 1 and n > 1
    ]
    whole = [n == m for n, m in zip(value.shape, source.shape, strict=True)]
    if len(cut) != 1 or whole.count(False) != 1:
        return None
    return source, cut[0], step.params["start_indices"][cut[0]]


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Running sums and differences along a named axis without an order."""
    for place, array, axis, what in (*neighbour_relations(facts), *shifts(facts)):
        names = names_of(array.node.shape)
        time = next((name for name in names if is_sequence(name)), None)
        over = names[axis] if axis < len(names) else ""
        # Batches are rolled to compare strangers; no component comes after another one, nor does
        # an environment.
        is_wrong = is_feature(over) if what in ("a shift", "a roll") else False
        is_wrong = is_wrong or (is_separate(over) and what != "a roll") or is_environment(over)
        if time is None or over == time or not is_wrong:
            continue
        kind = "independent element" if is_separate(over) else "component"
        yield RULE.finding(
            place,
            current=f"{what} of {array_in_words(facts, array)} goes along {over}, from one {kind} "
            "to the next",
            expected=f"it goes along {time}",
            fix=f"use axis {names.index(time)} (`{time}`) instead of axis {axis}",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="AX006",
    name="steps-along-batch",
    title="Neighbours along the batch are treated as successive steps",
    family="axis",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
`jnp.cumsum(x, axis=0)` and `x[1:] - x[:-1]` relate successive elements. Along an axis of
independent elements (batch, env…) there is no order, and a `(batch, time)` array that is treated as
`(time, batch)` gives running sums over strangers. Nor does one feature come after another one: what
moves an array on by one (`jnp.concatenate([first, x[:, :-1]], axis=1)`, `jnp.roll`) is to move it
along time, and moves features in a mapped function that has lost its batch axis.

Reported when the array also has an axis of time, by the declared names. `jnp.roll` is not
reported along a batch in general, where it pairs each example with another one.""",
    wrong="""\
import jax.numpy as jnp

AXES = {"rewards": "env time"}


def entry(rewards):
    return jnp.cumsum(rewards, axis=0)


def inputs():
    return (jnp.ones((4, 6)),)
""",
    right="""\
import jax.numpy as jnp

AXES = {"rewards": "env time"}


def entry(rewards):
    changes = rewards[:, 1:] - rewards[:, :-1]
    return jnp.cumsum(rewards, axis=1), changes


def inputs():
    return (jnp.ones((4, 6)),)
""",
    trace=check,
    source=check_source,
)
