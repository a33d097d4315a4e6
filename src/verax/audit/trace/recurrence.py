"""How one iteration of a loop makes the next carry from the last.

For each leaf of the carry: is it handed on as it came, made anew, added to, or fed back; and can
its old contents get into the new ones past a given set of gates.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from .program import Loop, Step, Value
from .variation import Variation


class Feedback(StrEnum):
    """What a leaf of the carry has to do with its own last value."""

    UNCHANGED = "unchanged"
    RENEWED = "renewed"  # does not depend on it
    ACCUMULATED = (
        "accumulated"  # the last value, with something added or written that does not depend on it
    )
    RECURRENT = "recurrent"


def trains(step: Step) -> bool:
    """Whether a loop takes gradients: its carry is then a model on its way, not a state in time."""
    return any(inner.kind == "derivative" for body in step.bodies for inner in body.walk())


def is_learned(step: Step, index: int) -> bool:
    """Whether a leaf of a loop's carry multiplies what is scanned: weights, which go on."""
    loop: Loop = step.detail
    slices = set(loop.slices)
    return any(
        inner.primitive == "dot_general" and not slices.isdisjoint(inner.inputs)
        for inner in loop.carry[index].consumers
    )


def products_with_weights(variation: Variation, step: Step, index: int) -> list[Value]:
    """Products with a matrix from outside of a loop that a leaf of its next carry is made from."""
    carried = step.detail.carried[index]
    return [
        inner.outputs[0]
        for inner in step.bodies[-1].walk()
        if inner.primitive == "dot_general"
        and variation.changes(inner.outputs[0], step)
        and not all(variation.changes(it, step) for it in inner.inputs)
        and carried in reached_from(variation, step, inner.outputs[0])
    ]


# Steps that neither change a value's size nor its part in a sum.
_TRANSPARENT = {"convert_element_type", "copy", "reshape", "squeeze", "broadcast_in_dim"}

# They write something into an array, and leave the rest of it what it was.
_WRITES = {"dynamic_update_slice", "scatter", "scatter-add"}


def feedback(variation: Variation, step: Step, index: int) -> Feedback:
    """How a leaf of a loop's carry is fed back."""
    loop: Loop = step.detail
    carry, carried = loop.carry[index], loop.carried[index]
    if carry is carried:
        return Feedback.UNCHANGED
    reached = reached_from(variation, step, carry)
    if carried not in reached:
        return Feedback.RENEWED
    return Feedback.ACCUMULATED if _is_sum(carried, carry, reached) else Feedback.RECURRENT


def reached_from(
    variation: Variation,
    loop: Step,
    value: Value,
    blocked: Callable[[Value, Step], bool] = lambda value, step: False,
) -> set[Value]:
    """What depends on a value within the same iteration, past steps that block it."""
    reached: set[Value] = set()
    pending = [value]
    while pending:
        value = pending.pop()
        if value in reached:
            continue
        reached.add(value)
        for target, by in variation.made_from(value):
            if by is not loop and not blocked(value, by):
                pending.append(target)
    return reached


def _is_sum(value: Value, carry: Value, reached: set[Value]) -> bool:
    while value is not carry:
        step = value.producer
        if step is None or step.kind != "operation":
            return False
        dependent = [it for it in step.inputs if it in reached]
        if len(dependent) != 1:
            return False
        if step.primitive in _WRITES and dependent[0] is step.inputs[0]:
            value = dependent[0]
            continue
        added = step.primitive in ("add", "add_any", "sub") and not (
            step.primitive == "sub" and dependent[0] is step.inputs[1]
        )
        if not added and step.primitive not in _TRANSPARENT:
            return False
        value = dependent[0]
    return True
