"""A loop whose length is the size of another axis than the one it walks along."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops that index an array by their counter and do not reach its end."""
    from ...trace.describe import name_of, tensor_of

    for step in facts.steps:
        length = step.detail.length if step.kind == "scan" else None
        if not length:
            continue
        for array, axis in _indexed_by_counter(step):
            size, names = array.shape[axis], facts.axes.names(array)
            others = [
                (names[i] or f"axis {i}")
                for i, n in enumerate(array.shape)
                if i != axis and n == length
            ]
            if size == length or not others or names[axis] is None:
                continue
            yield RULE.finding(
                facts.place(step),
                current=f"the loop runs {length} times, the size of {others[0]}, and its counter "
                f"indexes {names[axis]} of {name_of(facts, array)} ({tensor_of(facts, array)}), "
                f"which has {size}",
                expected=f"the loop runs {size} times, once for each element of {names[axis]}",
                fix=f"take the length from the axis that is indexed: `.shape[{axis}]`",
            )


def _indexed_by_counter(step: Step) -> Iterator[tuple[Value, int]]:
    """Reads in the body whose position along one axis is the loop's counter."""
    loop = step.detail
    counters = {
        carry
        for initial, carry, carried in zip(loop.initial, loop.carry, loop.carried, strict=True)
        if _counts(initial, carry, carried)
    }
    for inner in step.bodies[0].walk():
        if inner.primitive == "dynamic_slice":
            array, *starts = inner.inputs
            for axis, start in enumerate(starts):
                if _is_counter(start, counters) and inner.outputs[0].shape[axis] == 1:
                    yield array, axis
        elif inner.primitive == "gather":
            array, indices = inner.inputs[:2]
            mapped = inner.params["dimension_numbers"].start_index_map
            if len(mapped) == 1 and _is_counter(indices, counters):
                yield array, mapped[0]


def _counts(initial: Value, carry: Value, carried: Value) -> bool:
    """Whether a leaf starts at zero and grows by one."""
    step = carried.producer
    return (
        carry.shape == ()
        and initial.is_constant
        and initial.constant == 0
        and step is not None
        and step.primitive == "add"
        and carry in step.inputs
        and any(it.is_constant and it.constant == 1 for it in step.inputs)
    )


# Normalising an index that may be negative, and giving it another type or shape.
_NORMALISING = {
    *("select_n", "lt", "add", "convert_element_type", "broadcast_in_dim", "reshape", "squeeze"),
}


def _is_counter(value: Value, counters: set[Value]) -> bool:
    pending, depth = [value], 0
    while pending and depth < 32:
        value, depth = pending.pop(), depth + 1
        if value in counters:
            return True
        step = value.producer
        if step is not None and step.primitive in _NORMALISING:
            pending.extend(it for it in step.inputs if not it.is_constant)
    return False


RULE = Rule(
    code="SC004",
    name="length-of-other-axis",
    title="The length of a loop is the size of another axis",
    family="scan",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
A loop counts its iterations and uses the counter to index an array along an axis (time, say), but
its length is the size of another axis of that array (batch): it stops early, or reads past the
end, where JAX clamps the index silently.

Reported when the axis that is indexed has a name, its size differs from the length, and another
axis of the same array has exactly that size.""",
    wrong="""\
import jax
import jax.numpy as jnp

AXES = {"targets": "batch time"}


def entry(targets):
    def step(carry, _):
        s, t = carry
        return (s + 0.3 * (targets[:, t] - s), t + 1), None

    (s, _), _ = jax.lax.scan(step, (jnp.zeros(3), 0), None, length=targets.shape[0])
    return s


def inputs():
    return (jnp.ones((3, 8)),)
""",
    right="""\
import jax
import jax.numpy as jnp

AXES = {"targets": "batch time"}


def entry(targets):
    def step(carry, _):
        s, t = carry
        return (s + 0.3 * (targets[:, t] - s), t + 1), None

    (s, _), _ = jax.lax.scan(step, (jnp.zeros(3), 0), None, length=targets.shape[1])
    return s


def inputs():
    return (jnp.ones((3, 8)),)
""",
    trace=check,
)
