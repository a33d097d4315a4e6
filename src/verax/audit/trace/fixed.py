"""Values that are made of others, and are the same whatever these are: no gradient comes through.

What is bounded to one number is: `relu` of what is never positive, a clip beyond all that gets
there. So is what has no elements, a sum over probabilities, a softmax over one class, and the mean
of what its own mean was subtracted from. Ways that no run takes are left out, too: the other case
of a condition that is a constant, and what a loop overwrites before its end.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from .meaning.statistics import centred_over
from .program import Loop, Value

if TYPE_CHECKING:
    from .facts import Facts
    from .gradients import Link

_SUM_TO_ONE = ("probabilities", "renormalised", "standardised")
_SAME_OF_ONE = (*_SUM_TO_ONE, "log-probabilities")


def is_fixed(facts: Facts, value: Value) -> bool:
    """Whether a value is known to be one number, whatever it is made from."""
    bounds = facts.ranges[value]
    if 0 in value.shape or bounds.low == bounds.high:
        return True
    meaning = facts.meaning.get(value)
    if meaning is not None and meaning.kind in _SAME_OF_ONE and _count(meaning.of, meaning.axes):
        return True
    step = value.producer
    if step is None or step.primitive not in ("reduce_sum", "sub"):
        return False
    if step.primitive == "sub":
        axes = centred_over(step)
        return axes is not None and _count(step.inputs[0], axes)
    summed = _adds_up_over(facts, step.inputs[0])
    return summed is not None and set(summed) <= set(step.params["axes"])


def _count(of: Value, axes: tuple[int, ...]) -> bool:
    """Whether there is one element along these axes."""
    return bool(axes) and prod(of.shape[it] for it in axes) == 1


def _adds_up_over(facts: Facts, value: Value) -> tuple[int, ...] | None:
    """The axes over which the sum of a value is one, or zero, whatever it is made from."""
    meaning = facts.meaning.get(value)
    if meaning is not None and meaning.kind in _SUM_TO_ONE and meaning.axes:
        return meaning.axes
    step = value.producer
    return centred_over(step) if step is not None and step.primitive == "sub" else None


def is_taken(facts: Facts, link: Link) -> bool:
    """Whether a run may go this way from a value to what is made of it."""
    step = link.step
    if isinstance(step.detail, Loop) and step.detail.length is not None:
        return _is_taken_by_loop(step.detail, link)
    if step.primitive == "select_n":
        chosen = _chosen(facts, step.inputs[0])
        return chosen is None or link.source in (step.inputs[0], step.inputs[1 + chosen])
    if step.kind == "cond":
        chosen = _chosen(facts, step.inputs[0])
        return chosen is None or any(link.source is it for it in step.bodies[chosen].outputs)
    return True


def may_be_replaced(link: Link) -> bool:
    """Whether a step may write over all of an array that it is given."""
    step = link.step
    if step.primitive == "dynamic_update_slice":
        array, update = step.inputs[:2]
    elif step.primitive == "scatter":
        array, _, update = step.inputs
    else:
        return False
    return link.source is array and prod(update.shape) >= prod(array.shape)


def _chosen(facts: Facts, which: Value) -> int | None:
    bounds = facts.ranges[which]
    return int(bounds.low) if bounds.low == bounds.high else None


def _is_taken_by_loop(loop: Loop, link: Link) -> bool:
    if link.target not in loop.final:
        return True
    at = loop.final.index(link.target)
    is_start = link.source is loop.initial[at] and link.source is not loop.carried[at]
    return is_start == (loop.length == 0)
