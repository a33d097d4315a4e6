"""Sums and means by the axes that they go over, and what a scalar is a sum of.

A mean is a sum and a division by its number of elements. What a value is linear in is followed
back through sums, signs, constant factors and maps; anything else ends a path. The axes that were
summed on the way are then known by identity, whatever the user calls them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from .axes.axis import Axis
from .facts import Facts
from .meaning.copies import number_of, root
from .program import Mapping, Step, Value
from .sameness import Sameness

# They change no element of a value but for its sign, and not its weight in a sum.
_ARRANGED = {
    *("reshape", "squeeze", "expand_dims", "transpose", "copy", "convert_element_type", "neg"),
}
# How `keepdims` brings axes back.
_KEPT = {"broadcast_in_dim", "reshape"}
_MOST_PATHS = 64


@dataclass(frozen=True, eq=False)
class Reduction:
    """A sum over some axes; `is_mean` if the same call divides it by their number of elements."""

    step: Step
    axes: tuple[Axis, ...]
    is_mean: bool


@dataclass(frozen=True, eq=False)
class Part:
    """A value that a sum is linear in.

    `reductions` lie between the two, the outermost first; `divisors` are the constants by which
    the part is divided on the way, but for those of means.
    """

    value: Value
    reductions: tuple[Reduction, ...] = ()
    divisors: tuple[float, ...] = ()

    def is_divided_by(self, size: int) -> bool:
        """Whether some constant takes a number of elements out again, or a multiple of it."""
        times = [it / size for it in self.divisors]
        return any(it > 0.5 and abs(it - round(it)) < 1e-3 for it in times)


def parts_of(facts: Facts, value: Value) -> list[Part]:
    """What a value is a sum of, down to what is not linear any more."""
    found: list[Part] = []
    pending = [Part(value)]
    while pending and len(found) < _MOST_PATHS:
        part = pending.pop()
        further = list(_further(facts, part))
        if further:
            pending += reversed(further)
        else:
            found.append(part)
    return found


def _further(facts: Facts, part: Part) -> Iterator[Part]:
    step = part.value.producer
    if step is None:
        return
    if isinstance(step.detail, Mapping):
        for outer, inner, _ in step.detail.results:
            if outer is part.value:
                yield replace(part, value=inner)
        return
    if step.kind != "operation":
        return
    name, inputs = step.primitive, step.inputs
    if name in ("add", "add_any", "sub"):
        for value in inputs:
            yield replace(part, value=value)
    elif name in _ARRANGED or (name == "broadcast_in_dim" and inputs[0].shape == ()):
        yield replace(part, value=inputs[0])
    elif name == "reduce_sum":
        yield replace(part, value=inputs[0], reductions=(*part.reductions, reduction(facts, step)))
    elif name in ("mul", "div"):
        yield from _scaled(step, part)


def _scaled(step: Step, part: Part) -> Iterator[Part]:
    """A product with a number that is known; the quotient of a mean belongs to its sum."""
    one, other = step.inputs
    if step.primitive == "mul" and number_of(one) is not None:
        one, other = other, one
    number = number_of(other)
    if not number:
        return
    divisor = abs(number if step.primitive == "div" else 1 / number)
    total = one.producer
    # `keepdims` puts the axes back in between.
    while total is not None and total.primitive in _KEPT:
        total = total.inputs[0].producer
    if total is not None and _divides(step, total):
        yield replace(part, value=one)
    else:
        yield replace(part, value=one, divisors=(*part.divisors, divisor))


def reduction(facts: Facts, step: Step) -> Reduction:
    """A `reduce_sum`, with the axes that it goes over."""
    axes = facts.axes[step.inputs[0]]
    users = [user for _, user in facts.variation.made_from(step.outputs[0])]
    while len(users) == 1 and users[0].primitive in _KEPT:
        users = [user for _, user in facts.variation.made_from(users[0].outputs[0])]
    is_mean = bool(users) and all(_divides(user, step) for user in users)
    return Reduction(step, tuple(axes[index] for index in step.params["axes"]), is_mean)


def _divides(step: Step, total: Step) -> bool:
    """Whether a step makes a sum the mean, by the same call."""
    return (
        step.primitive == "div"
        and total.primitive == "reduce_sum"
        and step.call_site == total.call_site
        and number_of(step.inputs[1]) == _size(total)
    )


def _size(total: Step) -> int:
    shape = total.inputs[0].shape
    return prod(shape[index] for index in total.params["axes"])


@dataclass(frozen=True, eq=False)
class TotalAmongElements:
    """A sum over an axis that is added to each element along it, before these are summed.

    `outer` sums or averages over the `axis`, `total` has done so before; `element`, which is added
    to it, has left the axis alone.
    """

    outer: Reduction
    total: Reduction
    element: Reduction
    axis: Axis


def totals_among_elements(facts: Facts) -> Iterator[TotalAmongElements]:
    """Where an axis is summed over twice, for one part of a sum and not for another."""
    sums = [it for it in facts.steps if it.primitive == "reduce_sum"]
    if not any(_is_whole(reduction(facts, it)) for it in sums):
        return  # Few programs have a total, and paths are long.
    for step in sums:
        found = _total_among_elements(facts, step) if facts.is_in_users_function(step) else None
        if found is not None:
            yield found


def _total_among_elements(facts: Facts, step: Step) -> TotalAmongElements | None:
    parts = [it for it in parts_of(facts, step.outputs[0]) if len(it.reductions) == 2]
    totals = [it for it in parts if _is_whole(it.reductions[1])]
    same = Sameness()
    for part, other in itertools.product(totals, parts):
        (outer, total), element = part.reductions, other.reductions[1]
        summed, kept = total.step.inputs[0], element.step.outputs[0]
        if same.are(root(summed), root(element.step.inputs[0])):
            continue  # What one has more or less than all the others.
        for axis, size in zip(facts.axes[kept], kept.shape, strict=True):
            lost = axis in outer.axes and axis in total.axes and axis not in element.axes
            if lost and not part.is_divided_by(size):
                return TotalAmongElements(outer, total, element, axis)
    return None


def _is_whole(total: Reduction) -> bool:
    """Whether it is a sum over every axis of something that has several."""
    return not total.is_mean and total.step.outputs[0].shape == () and len(total.axes) > 1
