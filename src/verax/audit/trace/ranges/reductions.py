"""Many numbers to one: sums, extrema, products of matrices, running totals."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..program import Step, Value
from .arithmetic import greatest_of
from .bounds import mul_bounds, times
from .counts import empty_class
from .functions import apply
from .interval import Interval, Number, Point, anything, fitted, kind_of

if TYPE_CHECKING:
    from .analysis import Ranges, Rule


def _count(step: Step) -> int:
    shape = step.inputs[0].shape
    return math.prod(shape[axis] for axis in step.params["axes"])


def sum_bounds(interval: Interval, count: int) -> tuple[Number, Number]:
    """The bounds of a sum of so many numbers, before rounding."""
    return times(interval.low, count), times(interval.high, count)


def _total(
    low: Number, high: Number, count: int, dtype: Any, *, nan: bool, integral: bool
) -> Interval:
    """A sum that is rounded at each of its additions."""
    kind = kind_of(dtype)
    if not kind.is_float:
        return fitted(low, high, dtype, integral=True)
    exact = integral and max(abs(low), abs(high)) < 1 / kind.eps
    slack = 0.0 if exact else (count + 2) * kind.eps
    found = fitted(low, high, dtype, nan=nan, integral=integral)

    def moved(number: Number, direction: int) -> Number:
        return number + direction * slack * abs(number) if math.isfinite(number) else number

    return replace(found, low=moved(found.low, -1), high=moved(found.high, 1))


def _reduce_sum(ranges: Ranges, step: Step) -> Interval:
    interval = ranges[step.inputs[0]]
    count = _count(step)
    low, high = sum_bounds(interval, count)
    undefined = interval.low == -math.inf and interval.high == math.inf
    found = _total(
        low,
        high,
        count,
        step.outputs[0].dtype,
        nan=interval.nan or undefined,
        integral=interval.integral,
    )
    # Rounding keeps order: a one and more are no less than one.
    if _holds_a_one(ranges, step):
        return replace(found, low=1.0)
    return found.with_points(empty_class(step))


def _holds_a_one(ranges: Ranges, step: Step) -> bool:
    """Whether this sums `exp(x - max(x))` over the axes of the maximum."""
    exp = step.inputs[0].producer
    if exp is None or exp.primitive != "exp":
        return False
    difference = exp.inputs[0].producer
    if (
        difference is None
        or difference.primitive != "sub"
        or _avoids_infinity(difference.inputs[1])
    ):
        return False
    axes = greatest_of(ranges, *difference.inputs)
    return axes is not None and set(axes) <= set(step.params["axes"])


def _avoids_infinity(value: Value) -> bool:
    """Whether a maximum is replaced where it is infinite: then nothing has to be as great."""
    for _ in range(6):
        step = value.producer
        if step is None or step.kind != "operation" or step.primitive == "reduce_max":
            return False
        if step.primitive == "select_n":
            return True
        value = step.inputs[-1]
    return False


def _extreme(at_top: bool) -> Rule:
    def rule(ranges: Ranges, step: Step) -> Interval:
        interval = ranges[step.inputs[0]]
        # The greatest element is at the upper end when any is; at another point only if all are.
        end = interval.high if at_top else interval.low
        return interval.with_points(point for point in interval.points if point.value == end)

    return rule


def _product(ranges: Ranges, step: Step) -> Interval | None:
    interval = ranges[step.inputs[0]]
    if interval.low >= 0 and interval.high <= 1:
        zeros = [point for point in interval.points if point.value == 0]
        return replace(interval, low=type(interval.low)(0)).with_points(zeros)
    dtype = step.outputs[0].dtype
    if kind_of(dtype).is_float and interval.low >= 0:
        nan = interval.nan or (interval.contains(0) and not interval.is_bounded)
        return Interval(0.0, math.inf, nan, interval.integral)
    return None


def _truth(ranges: Ranges, step: Step) -> Interval | None:
    if kind_of(step.outputs[0].dtype).letter != "b":
        return None
    return Interval(0, 1, integral=True)


def _cumulative_sum(ranges: Ranges, step: Step) -> Interval:
    interval = ranges[step.inputs[0]]
    length = step.inputs[0].shape[step.params["axis"]]
    low, high = sum_bounds(interval, length)
    undefined = interval.low == -math.inf and interval.high == math.inf
    return _total(
        min(low, interval.low),
        max(high, interval.high),
        length,
        step.outputs[0].dtype,
        nan=interval.nan or undefined,
        integral=interval.integral,
    )


def _cumulative_logsumexp(ranges: Ranges, step: Step) -> Interval:
    interval = ranges[step.inputs[0]]
    length = step.inputs[0].shape[step.params["axis"]]
    high = interval.high + math.log(max(length, 1)) + 1e-3
    return fitted(interval.low - 1e-3, high, step.outputs[0].dtype, nan=True)


def _position(ranges: Ranges, step: Step) -> Interval:
    shape = step.inputs[0].shape
    last = math.prod(shape[axis] for axis in step.params["axes"]) - 1
    return Interval(0, max(last, 0), integral=True).with_points(
        (Point(0, step), Point(max(last, 0), step))
    )


def _dot_general(ranges: Ranges, step: Step) -> Interval:
    left, right = step.inputs
    a, b = ranges[left], ranges[right]
    (contract_left, contract_right), (batch_left, batch_right) = step.params["dimension_numbers"]
    count = math.prod(left.shape[axis] for axis in contract_left)
    dtype = step.outputs[0].dtype
    low, high = mul_bounds(a, b)
    is_square = (
        ranges.identities.equal(left, right)
        and tuple(contract_left) == tuple(contract_right)
        and tuple(batch_left) == tuple(batch_right)
        and len(contract_left) + len(batch_left) == len(left.shape)
    )
    if is_square and kind_of(dtype).is_float:
        squared = apply("square", a, dtype)
        low, high = squared.low, squared.high
    return _total(
        times(low, count),
        times(high, count),
        count,
        dtype,
        nan=_dot_undefined(a, b),
        integral=a.integral and b.integral,
    )


def _dot_undefined(a: Interval, b: Interval) -> bool:
    return a.nan or b.nan or not a.is_bounded or not b.is_bounded


def _convolution(ranges: Ranges, step: Step) -> Interval:
    a, b = ranges.of(step)
    kernel = step.inputs[1].shape
    out_features = kernel[step.params["dimension_numbers"].rhs_spec[0]]
    count = math.prod(kernel) // max(out_features, 1)
    low, high = mul_bounds(a, b)
    # At the borders fewer products are summed.
    return _total(
        min(0, times(low, count)),
        max(0, times(high, count)),
        count,
        step.outputs[0].dtype,
        nan=_dot_undefined(a, b),
        integral=a.integral and b.integral,
    )


def _window_sum(ranges: Ranges, step: Step) -> Interval:
    interval = ranges[step.inputs[0]]
    count = math.prod(step.params["window_dimensions"])
    low, high = sum_bounds(interval, count)
    return _total(
        min(0, low),
        max(0, high),
        count,
        step.outputs[0].dtype,
        nan=interval.nan or not interval.is_bounded,
        integral=interval.integral,
    )


def _window_extreme(at_top: bool) -> Rule:
    def rule(ranges: Ranges, step: Step) -> Interval:
        interval = ranges[step.inputs[0]]
        # A window that lies in the padding holds nothing.
        empty = anything(step.outputs[0].dtype)
        outside = any(low or high for low, high in step.params["padding"])
        if not outside:
            return interval.without_points()
        end = empty.low if at_top else empty.high
        return interval.without_points().union(Interval(end, end, integral=interval.integral))

    return rule


def _top_k(ranges: Ranges, step: Step) -> list[Interval]:
    value = step.inputs[0]
    axis = step.params.get("axis", step.params.get("reduction_dimension", -1))
    last = max(value.shape[axis] - 1, 0)
    return [ranges[value], Interval(0, last, integral=True)]


RULES: dict[str, Rule] = {
    "reduce_sum": _reduce_sum,
    "reduce_max": _extreme(True),
    "reduce_min": _extreme(False),
    "reduce_prod": _product,
    "reduce_and": _truth,
    "reduce_or": _truth,
    "reduce_xor": _truth,
    "argmax": _position,
    "argmin": _position,
    "cumsum": _cumulative_sum,
    "cumprod": _product,
    "cummax": lambda ranges, step: ranges[step.inputs[0]],
    "cummin": lambda ranges, step: ranges[step.inputs[0]],
    "cumlogsumexp": _cumulative_logsumexp,
    "dot_general": _dot_general,
    "conv_general_dilated": _convolution,
    "reduce_window_sum": _window_sum,
    "reduce_window_max": _window_extreme(True),
    "reduce_window_min": _window_extreme(False),
    "top_k": _top_k,
    "approx_top_k": _top_k,
    "pmax": lambda ranges, step: [ranges[value].without_points() for value in step.inputs],
    "pmin": lambda ranges, step: [ranges[value].without_points() for value in step.inputs],
}
