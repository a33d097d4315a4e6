"""Operations that move elements: layout, casts, indexing, joining, sorting."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..program import Step
from .counts import is_by_sizes
from .interval import Interval, Point, anything, fitted, kind_of, rounded
from .reductions import sum_bounds

if TYPE_CHECKING:
    from .analysis import Ranges, Rule


def _same(ranges: Ranges, step: Step) -> Interval:
    return ranges[step.inputs[0]]


def _part(ranges: Ranges, step: Step) -> Interval:
    return ranges[step.inputs[0]].everywhere()


def _each(ranges: Ranges, step: Step) -> list[Interval]:
    return ranges.of(step)


def _concatenate(ranges: Ranges, step: Step) -> Interval:
    found, *others = [
        ranges[value].located() for value in step.inputs if math.prod(value.shape)
    ] or ranges.of(step)
    for other in others:
        found = found.union(other)
    return found


def _pad(ranges: Ranges, step: Step) -> Interval:
    operand, padding = (interval.located() for interval in ranges.of(step))
    grows = any(
        low > 0 or high > 0 or inside > 0 for low, high, inside in step.params["padding_config"]
    )
    return operand.union(padding) if grows else operand


def _iota(ranges: Ranges, step: Step) -> Interval:
    last = max(step.params["shape"][step.params["dimension"]] - 1, 0)
    dtype = step.outputs[0].dtype
    end = rounded(last, dtype)
    zero = rounded(0, dtype)
    return Interval(zero, end, integral=True).with_points(
        (Point(zero, step, located=True), Point(end, step, located=True))
    )


def _convert(ranges: Ranges, step: Step) -> Interval:
    return converted(ranges[step.inputs[0]], step.outputs[0].dtype)


def converted(interval: Interval, dtype: Any) -> Interval:
    """An interval in another dtype. Floats are cut towards zero and end at the ends of integers."""
    kind = kind_of(dtype)
    if kind.letter == "b":
        return Interval(0, 1, integral=True).with_points(
            replace(point, value=int(point.value != 0)) for point in interval.points
        )
    if kind.is_float:
        found = fitted(
            interval.low, interval.high, dtype, nan=interval.nan, integral=interval.integral
        )
        return found.with_points(
            replace(point, value=rounded(point.value, dtype)) for point in interval.points
        )
    if not kind.is_integer:
        return anything(dtype)
    if isinstance(interval.low, int) and isinstance(interval.high, int):
        found = fitted(interval.low, interval.high, dtype, integral=True)
        return found.with_points(interval.points)
    if interval.nan or interval.low < kind.low or interval.high > kind.high:
        return anything(dtype)
    low, high = math.trunc(interval.low), math.trunc(interval.high)
    return Interval(low, high, integral=True).with_points(
        replace(point, value=math.trunc(point.value)) for point in interval.points
    )


def _bitcast(ranges: Ranges, step: Step) -> Interval | None:
    """Bits of a positive float, read as an integer or back: the order stays."""
    interval = ranges[step.inputs[0]]
    source, target = kind_of(step.inputs[0].dtype), kind_of(step.outputs[0].dtype)
    if step.inputs[0].shape != step.outputs[0].shape:
        return None
    if not (source.is_integer and target.is_float and interval.low >= 0):
        return None
    ends = np.array([interval.low, interval.high]).astype(step.inputs[0].dtype)
    low, high = (float(it) for it in ends.view(np.dtype(step.outputs[0].dtype)))
    if low != low or high != high or high < low:
        return None
    return Interval(low, high)


def in_bounds(ranges: Ranges, index: Interval, size: int, taken: int) -> bool:
    """Whether a slice of so many elements, started at this index, is inside of an axis."""
    return index.low >= 0 and index.high <= size - taken


def _gather(ranges: Ranges, step: Step) -> Interval:
    operand, index = ranges[step.inputs[0]].everywhere(), ranges[step.inputs[1]]
    if "FILL" not in str(step.params["mode"]):
        return operand
    numbers = step.params["dimension_numbers"]
    sizes = step.params["slice_sizes"]
    shape = step.inputs[0].shape
    if all(in_bounds(ranges, index, shape[axis], sizes[axis]) for axis in numbers.start_index_map):
        return operand
    fill = step.params.get("fill_value")
    kind = kind_of(step.outputs[0].dtype)
    if fill is None:
        if kind.is_float:
            return replace(operand, nan=True)
        return anything(step.outputs[0].dtype)
    number = float(fill) if kind.is_float else int(fill)
    if number != number:
        return replace(operand, nan=True)
    return operand.union(Interval(number, number, integral=number == math.floor(number)))


def _dynamic_update(ranges: Ranges, step: Step) -> Interval:
    return ranges[step.inputs[0]].located().union(ranges[step.inputs[1]].located())


def _scatter(ranges: Ranges, step: Step) -> Interval:
    operand, _, updates = ranges.of(step)[:3]
    return operand.located().union(updates.located())


def _scatter_add(ranges: Ranges, step: Step) -> Interval:
    operand, _, updates = ranges.of(step)[:3]
    count = math.prod(step.inputs[2].shape)
    low, high = sum_bounds(updates, count)
    dtype = step.outputs[0].dtype
    slack = (count + 2) * kind_of(dtype).eps
    low, high = min(0, low) + operand.low, max(0, high) + operand.high
    exact = operand.integral and updates.integral and max(abs(low), abs(high)) < 2**11
    if kind_of(dtype).is_float and not exact:
        low = low - slack * max(abs(low), abs(operand.low)) if math.isfinite(low) else low
        high = high + slack * max(abs(high), abs(operand.high)) if math.isfinite(high) else high
    undefined = not (operand.is_bounded and updates.is_bounded)
    return fitted(
        low,
        high,
        dtype,
        nan=operand.nan or updates.nan or undefined,
        integral=operand.integral and updates.integral,
    ).with_points(() if is_by_sizes(step.inputs[1]) else operand.located().points)


def _scatter_extreme(ranges: Ranges, step: Step) -> Interval:
    operand, _, updates = ranges.of(step)[:3]
    return operand.union(updates).without_points()


def _bits(ranges: Ranges, step: Step) -> Interval:
    return anything(step.outputs[0].dtype)


def _population_count(ranges: Ranges, step: Step) -> Interval:
    kind = kind_of(step.outputs[0].dtype)
    bits = int(kind.high - kind.low).bit_length()
    return fitted(0, bits, step.outputs[0].dtype, integral=True)


def _axis_index(ranges: Ranges, step: Step) -> Interval:
    return Interval(0, 2**31 - 1, integral=True)


def _random_gamma(ranges: Ranges, step: Step) -> Interval:
    # In logarithms, when so asked.
    low = -math.inf if step.params.get("log_space") else 0.0
    return Interval(low, math.inf, nan=True)


_PASS_ON = (
    "broadcast_in_dim reshape squeeze expand_dims transpose rev copy copy_p "
    "stop_gradient pvary pcast sharding_constraint name all_gather all_to_all ppermute "
    "pbroadcast all_gather_invariant"
).split()

RULES: dict[str, Rule] = {
    **dict.fromkeys(_PASS_ON, _same),
    "slice": _part,
    "dynamic_slice": _part,
    "sort": _each,
    "optimization_barrier": _each,
    "device_put": _each,
    "concatenate": _concatenate,
    "pad": _pad,
    "iota": _iota,
    "convert_element_type": _convert,
    "bitcast_convert_type": _bitcast,
    "gather": _gather,
    "dynamic_update_slice": _dynamic_update,
    "scatter": _scatter,
    "scatter-add": _scatter_add,
    "scatter_add": _scatter_add,
    "scatter-min": _scatter_extreme,
    "scatter_min": _scatter_extreme,
    "scatter-max": _scatter_extreme,
    "scatter_max": _scatter_extreme,
    "population_count": _population_count,
    "clz": _population_count,
    "axis_index": _axis_index,
    "random_bits": _bits,
    "random_gamma": _random_gamma,
}
