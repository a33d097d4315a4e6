"""Operations on two and more numbers, element by element."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..program import Step, Value
from .bounds import add_bounds, mul_bounds, sub_bounds
from .compiled import as_compiled
from .functions import apply
from .identity import unarranged
from .interval import Interval, Number, Point, anything, fitted, kind_of, rounded
from .mixtures import mixed_bounds

if TYPE_CHECKING:
    from .analysis import Ranges, Rule

# So far below everything else that its exponential vanishes: what masks use.
_MASKED = -1e4


def _both(a: Interval, b: Interval) -> bool:
    return a.integral and b.integral


def _has_infinity(a: Interval) -> bool:
    return not a.is_bounded


def _pairs(
    ranges: Ranges, step: Step, operation: Callable[[Number, Number], Number]
) -> Iterator[Point]:
    """Points of two operands, combined where the two can vary independently."""
    left, right = step.inputs
    a, b = ranges[left], ranges[right]
    if not a.points or not b.points:
        return
    if not (a.is_single or b.is_single) and ranges.identities.share_data(left, right):
        return
    dtype = step.outputs[0].dtype
    for p, q in itertools.product(a.points, b.points):
        try:
            value = rounded(operation(p.value, q.value), dtype)
        except (OverflowError, ZeroDivisionError):
            continue
        if value == value:
            located, presumed = p.located or q.located, p.presumed or q.presumed
            yield Point(value, p.origin or q.origin, p.when | q.when, located, presumed)


def _add(ranges: Ranges, step: Step) -> Interval:
    a, b = ranges.of(step)
    undefined = _has_infinity(a) and _has_infinity(b)
    found = fitted(
        *(mixed_bounds(ranges, step) or add_bounds(a, b)),
        step.outputs[0].dtype,
        nan=a.nan or b.nan or undefined,
        integral=_both(a, b),
    )
    found = as_compiled(ranges, step, found)
    return found.with_points(_pairs(ranges, step, lambda x, y: x + y))


def _sub(ranges: Ranges, step: Step) -> Interval:
    left, right = step.inputs
    a, b = ranges[left], ranges[right]
    low, high = sub_bounds(a, b)
    points = list(_pairs(ranges, step, lambda x, y: x - y))
    peak = greatest_of(ranges, left, right)
    if peak is not None:
        high = min(high, 0)
        # The greatest element itself, and what was masked far below it.
        points = [Point(0.0, step)]
        points += [replace(it, origin=it.origin or step) for it in a.points if it.value <= _MASKED]
    elif ranges.identities.equal(left, right):
        low, high, points = 0, 0, []
    undefined = _has_infinity(a) and _has_infinity(b)
    found = fitted(
        low,
        high,
        step.outputs[0].dtype,
        nan=a.nan or b.nan or undefined,
        integral=_both(a, b),
    )
    if peak is None and not ranges.identities.equal(left, right):
        found = as_compiled(ranges, step, found)
    return found.with_points(points)


def greatest_of(ranges: Ranges, value: Value, other: Value) -> tuple[int, ...] | None:
    """The axes over which the second value is the maximum of the first, if it is that."""
    base = unarranged(other)
    for _ in range(4):
        step = base.producer
        if step is None or step.kind != "operation":
            return None
        if step.primitive == "max" and ranges[step.inputs[0]].high == -math.inf:
            base = unarranged(step.inputs[1])
        elif step.primitive == "select_n" and _asks_whether_finite(step):
            base = unarranged(step.inputs[2])
        elif step.primitive == "reduce_max" and ranges.identities.equal(step.inputs[0], value):
            axes: tuple[int, ...] = tuple(step.params["axes"])
            return axes if _lies_along(step, other, axes) else None
        else:
            return None
    return None


def _lies_along(reduction: Step, broadcast: Value, axes: tuple[int, ...]) -> bool:
    """Whether a reduced value was broadcast back along the axes that were reduced."""
    rank = len(reduction.inputs[0].shape)
    kept = tuple(axis for axis in range(rank) if axis not in axes)
    shape = tuple(
        size if axis in kept else 1 for axis, size in enumerate(reduction.inputs[0].shape)
    )
    step = broadcast.producer
    # Through casts and stop_gradient, to the step that put the axes back.
    while step is not None and step.primitive in ("stop_gradient", "convert_element_type", "copy"):
        broadcast = step.inputs[0]
        step = broadcast.producer
    if not kept:
        return True
    if step is None or step.primitive not in ("broadcast_in_dim", "reshape"):
        return False
    if step.primitive == "broadcast_in_dim":
        return tuple(step.params["broadcast_dimensions"]) in (kept, tuple(range(rank)))
    return broadcast.shape == shape


def _asks_whether_finite(step: Step) -> bool:
    producer = step.inputs[0].producer
    return len(step.inputs) == 3 and producer is not None and producer.primitive == "is_finite"


def _mul(ranges: Ranges, step: Step) -> Interval:
    left, right = step.inputs
    a, b = ranges[left], ranges[right]
    dtype = step.outputs[0].dtype
    if ranges.identities.equal(left, right):
        return apply("square", a, dtype)
    undefined = (_has_infinity(a) and b.contains(0)) or (_has_infinity(b) and a.contains(0))
    found = fitted(*mul_bounds(a, b), dtype, nan=a.nan or b.nan or undefined, integral=_both(a, b))
    found = as_compiled(ranges, step, found)
    zeros = [point for it in (a, b) for point in it.points if point.value == 0]
    return found.with_points((*zeros, *_pairs(ranges, step, lambda x, y: x * y)))


def _div(ranges: Ranges, step: Step) -> Interval:
    left, right = step.inputs
    a, b = ranges[left], ranges[right]
    dtype = step.outputs[0].dtype
    if not kind_of(dtype).is_float:
        return _integer_div(a, b, dtype)
    points = _pairs(ranges, step, lambda x, y: x / y)
    if a.low >= 0 and _is_sum_of(ranges, left, right):
        # Each part is at most the whole. The quotient of equal numbers is exactly one.
        zeros = [point for point in a.points if point.value == 0]
        return Interval(0.0, 1.0, nan=a.nan or b.nan or b.low <= 0 or _has_infinity(b)).with_points(
            zeros
        )
    nan = a.nan or b.nan or (_has_infinity(a) and _has_infinity(b))
    if b.contains(0):
        nan = nan or a.contains(0)
        low, high = -math.inf, math.inf
        if b.low >= 0:
            # The sign of a zero is not known, so that a quotient by zero may go either way.
            low = 0.0 if a.low > 0 and b.low > 0 else -math.inf
        found = Interval(low, high, nan)
    else:
        corners = [_quotient(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        found = as_compiled(ranges, step, fitted(min(corners), max(corners), dtype, nan=nan))
    return found.with_points(points)


def _quotient(a: Number, b: Number) -> float:
    if math.isinf(b):
        return 0.0
    try:
        return a / b
    except OverflowError:
        return math.inf if (a > 0) == (b > 0) else -math.inf


def _integer_div(a: Interval, b: Interval, dtype: Any) -> Interval:
    if b.contains(0):
        return anything(dtype)
    corners = [_truncated(int(x), int(y)) for x in (a.low, a.high) for y in (b.low, b.high)]
    return fitted(min(corners), max(corners), dtype, integral=True)


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a >= 0) == (b > 0) else -quotient


def _is_sum_of(ranges: Ranges, part: Value, whole: Value) -> bool:
    base = unarranged(whole)
    step = base.producer
    if step is None or step.primitive != "reduce_sum":
        return False
    return ranges.identities.equal(step.inputs[0], part) and _lies_along(
        step, whole, tuple(step.params["axes"])
    )


def _rem(ranges: Ranges, step: Step) -> Interval:
    a, b = ranges.of(step)
    dtype = step.outputs[0].dtype
    integral = _both(a, b)
    if b.contains(0) or not (b.is_bounded and (a.is_bounded or integral)):
        nan = a.nan or b.nan or b.contains(0) or _has_infinity(a)
        # The remainder has the sign of what is divided.
        low = 0 if a.low >= 0 else a.low
        high = 0 if a.high <= 0 else a.high
        if integral and b.contains(0):
            return anything(dtype)
        return fitted(low, high, dtype, nan=nan, integral=integral)
    largest = max(abs(b.low), abs(b.high)) - (1 if integral else 0)
    low = max(a.low, -largest) if a.low < 0 else 0
    high = min(a.high, largest) if a.high > 0 else 0
    points: list[Point] = []
    if integral and b.is_single and a.low >= 0 and a.high >= 2 * largest:
        # What is taken modulo n is meant to run over all of 0..n-1.
        points = [Point(0, step), Point(int(largest), step)]
    return fitted(low, high, dtype, nan=a.nan or b.nan, integral=integral).with_points(points)


def _extremum(pick: Callable[..., Number], greater: bool) -> Rule:
    def rule(ranges: Ranges, step: Step) -> Interval:
        a, b = ranges.of(step)
        nan = a.nan or b.nan
        found = Interval(pick(a.low, b.low), pick(a.high, b.high), nan, _both(a, b))
        points = list(_pairs(ranges, step, pick))
        for one, other in ((a, b), (b, a)):
            if not one.is_single or not math.isfinite(one.low):
                continue
            cuts = other.low < one.low if greater else other.high > one.low
            if cuts:
                # The author expects what lies beyond, else there would be no limit here.
                points.append(Point(one.low, step))
        return found.with_points(points)

    return rule


def _clamp(ranges: Ranges, step: Step) -> Interval:
    low, x, high = ranges.of(step)
    found = Interval(
        min(max(low.low, x.low), high.high),
        max(min(x.high, high.high), low.low),
        x.nan or low.nan or high.nan,
        low.integral and x.integral and high.integral,
    )
    points = list(x.points)
    if low.is_single and x.low < low.low:
        points.append(Point(low.low, step))
    if high.is_single and x.high > high.low:
        points.append(Point(high.low, step))
    return found.with_points(points)


def _integer_pow(ranges: Ranges, step: Step) -> Interval:
    a = ranges[step.inputs[0]]
    dtype = step.outputs[0].dtype
    exponent = int(step.params["y"])
    if exponent < 0:
        if a.contains(0) or not kind_of(dtype).is_float:
            found = anything(dtype)
            return replace(found, low=0.0, nan=a.nan) if exponent % 2 == 0 else found
        ends = [_power(a.low, exponent), _power(a.high, exponent)]
    else:
        ends = [_power(a.low, exponent), _power(a.high, exponent)]
        if exponent % 2 == 0 and a.contains(0):
            ends.append(0)
    found = fitted(min(ends), max(ends), dtype, nan=a.nan, integral=a.integral and exponent >= 0)
    if kind_of(dtype).is_float:
        # Repeated multiplication rounds each time, but for powers of zero and one.
        slack = abs(exponent) * kind_of(dtype).eps
        found = replace(found, low=_moved(found.low, -slack), high=_moved(found.high, slack))
        if exponent % 2 == 0:
            found = replace(found, low=max(found.low, 0.0))
    return found.with_points(
        replace(point, value=rounded(_power(point.value, exponent), dtype))
        for point in a.points
        if point.value != 0 or exponent > 0
    )


def _moved(number: Number, by: float) -> Number:
    if number in (0, 1, -1) or not math.isfinite(number):
        return number
    return number + by * abs(number)


def _power(base: Number, exponent: int) -> Number:
    if math.isinf(base) and exponent < 0:
        return 0.0
    try:
        return base**exponent
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 else math.inf


def _pow(ranges: Ranges, step: Step) -> Interval:
    a, b = ranges.of(step)
    dtype = step.outputs[0].dtype
    if b.is_single and b.low == 0:
        return Interval(1.0, 1.0)
    if not kind_of(dtype).is_float or a.low < 0:
        return anything(dtype)
    nan = a.nan or b.nan
    if a.low == 0 and b.low <= 0:
        return Interval(0.0, math.inf, nan)
    corners = [_real_power(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    found = fitted(min(corners), max(corners), dtype, nan=nan)
    slack = 64 * kind_of(dtype).eps
    exact = (0, 1)
    return replace(
        found,
        low=found.low if found.low in exact else max(0.0, found.low * (1 - slack)),
        high=found.high if found.high in exact else found.high * (1 + slack),
    ).with_points(_pairs(ranges, step, _real_power))


def _real_power(base: Number, exponent: Number) -> float:
    if base == 1 or exponent == 0:
        return 1.0
    if base < 0:
        return math.nan
    try:
        return float(base) ** float(exponent)
    except OverflowError:
        return math.inf
    except ZeroDivisionError:
        return math.inf


def _atan2(ranges: Ranges, step: Step) -> Interval:
    a, b = ranges.of(step)
    return fitted(-3.1415930, 3.1415930, step.outputs[0].dtype, nan=a.nan or b.nan)


RULES: dict[str, Rule] = {
    "add": _add,
    "add_any": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "max": _extremum(max, True),
    "min": _extremum(min, False),
    "clamp": _clamp,
    "integer_pow": _integer_pow,
    "pow": _pow,
    "atan2": _atan2,
}
