"""Indices that leave the array which they index."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from .facts import Facts
from .program import Step, Value
from .ranges.identity import unarranged
from .ranges.interval import Interval, Number, Point, kind_of


@dataclass(frozen=True, eq=False)
class Access:
    """An axis of an array that is read or written at an index.

    `last` is the greatest index at which the whole slice lies inside. `skips_negative` if indices
    below zero are left out by the rules of what was called, as by `jax.ops.segment_sum`.
    """

    step: Step
    array: Value
    index: Value
    interval: Interval
    axis: int
    size: int
    last: int
    outcome: str
    skips_negative: bool = False

    @property
    def is_inside(self) -> bool:
        """Whether bounds prove that the index stays inside."""
        return self.interval.low >= 0 and self.interval.high <= self.last

    @property
    def outside(self) -> Point | None:
        """A number outside that the index is known to take.

        An input's dtype says nothing of that: it holds more than there are labels or tokens.
        """
        known = (it for it in self.interval.points if not it.presumed)
        return self.interval.with_points(known).reached(self._is_outside)

    def _is_outside(self, number: Number) -> bool:
        return number > self.last or (number < 0 and not self.skips_negative)


def proved_inside(facts: Facts) -> Iterator[list[Access]]:
    """The accesses of each line, where bounds prove that every index stays inside.

    A line may index several axes or arrays, and a helper is called in several places: what is
    proved of one says nothing of the others. Of constants there is nothing to prove.
    """
    lines: dict[tuple[str, int], list[Access]] = defaultdict(list)
    for access in accesses(facts):
        place = facts.place(access.step)
        lines[place.file, place.line].append(access)
    for found in lines.values():
        if all(it.is_inside for it in found):
            computed = [it for it in found if not it.index.is_constant]
            if any(not it.interval.is_single for it in computed):
                yield computed


def accesses(facts: Facts) -> Iterator[Access]:
    """Reads and writes of the user's code at computed indices, one for each axis indexed.

    Where several indices come in one array, their intervals are not told apart, and are unknown.
    """
    for step in facts.steps:
        find = _ACCESSES.get(step.primitive)
        if find is None or _is_key(step.inputs[0]):
            continue  # An index into keys is the concern of the rules for keys.
        if facts.is_in_users_function(step) or _is_take(step):
            yield from find(facts, step)


def _is_key(value: Value) -> bool:
    """Whether an array holds random keys, of the new style or of the old."""
    is_old = str(value.dtype) == "uint32" and value.shape[-1:] == (2,)
    return is_old or kind_of(value.dtype).letter == "?"


def _is_take(step: Step) -> bool:
    return step.within.function in ("_take", "take_along_axis", "_take_along_axis", "_gather")


def _dynamic_slice(facts: Facts, step: Step) -> Iterator[Access]:
    array, *indices = step.inputs
    taken = step.params["slice_sizes"]
    for axis, index in enumerate(indices):
        last = array.shape[axis] - taken[axis]
        found = _access(facts, step, array, index, axis, last, f"reads from {last} instead")
        if last > 0 or taken[axis] == 1:
            yield found
        else:  # All of the axis: a start that is not zero is of no consequence.
            yield replace(found, interval=found.interval.without_points())


def _dynamic_update(facts: Facts, step: Step) -> Iterator[Access]:
    array, update, *indices = step.inputs
    for axis, index in enumerate(indices):
        last = array.shape[axis] - update.shape[axis]
        outcome = f"writes at {last} instead"
        yield _access(facts, step, array, index, axis, last, outcome)


def _gather(facts: Facts, step: Step) -> Iterator[Access]:
    array, index = step.inputs
    axes = step.params["dimension_numbers"].start_index_map
    sizes = step.params["slice_sizes"]
    if len(axes) != 1:
        yield _unknown(step, array, index)
        return
    filled = "FILL" in str(step.params["mode"])
    last = array.shape[axes[0]] - sizes[axes[0]]
    fill = step.params.get("fill_value")
    outcome = f"gives {'nan' if fill is None else fill}" if filled else f"reads {last} instead"
    yield _access(facts, step, array, index, axes[0], last, outcome)


def _scatter(facts: Facts, step: Step) -> Iterator[Access]:
    array, index, _ = step.inputs
    numbers = step.params["dimension_numbers"]
    axes = numbers.scatter_dims_to_operand_dims
    if len(axes) != 1 or axes[0] not in numbers.inserted_window_dims:
        yield _unknown(step, array, index)
        return
    clips = "CLIP" in str(step.params["mode"])
    last = array.shape[axes[0]] - 1
    outcome = f"writes at {last} instead" if clips else "writes nothing"
    found = _access(facts, step, array, index, axes[0], last, outcome)
    yield replace(found, skips_negative=not clips and not _counts_from_the_end(index))


def _counts_from_the_end(index: Value) -> bool:
    """Whether indexing has made `i + n` of what is negative: `where(i < 0, i + n, i)`."""
    step = unarranged(index).producer
    if step is not None and step.primitive == "concatenate":
        return any(_counts_from_the_end(it) for it in step.inputs)
    if step is None or step.primitive != "select_n":
        return False
    asked = step.inputs[0].producer
    return asked is not None and asked.primitive == "lt"


def _unknown(step: Step, array: Value, index: Value) -> Access:
    return Access(step, array, index, Interval(-math.inf, math.inf), 0, 0, 0, "")


def _access(
    facts: Facts, step: Step, array: Value, index: Value, axis: int, last: int, outcome: str
) -> Access:
    interval = facts.ranges[index]
    return Access(step, array, index, interval, axis, array.shape[axis], last, outcome)


_ACCESSES = {
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
    "scatter-mul": _scatter,
    "scatter-min": _scatter,
    "scatter-max": _scatter,
    "scatter_add": _scatter,
    "scatter_mul": _scatter,
    "scatter_min": _scatter,
    "scatter_max": _scatter,
}
