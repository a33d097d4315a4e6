"""Intervals of what is known while tracing, and of what enters the program."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..program import Value
from .interval import Interval, Kind, Number, Point, anything, kind_of

# Beyond this, looking at every element costs more than it tells.
_LARGEST_CONSTANT = 1 << 22

# Integers of so few bits are used up to their ends: pixels, bytes, flags.
_FULLY_USED = (np.dtype(np.uint8), np.dtype(np.int8), np.dtype(np.bool_))


def interval_of_constant(value: Value) -> Interval:
    """The least and the greatest element of a literal or captured array."""
    kind = kind_of(value.dtype)
    if kind.letter == "?" or math.prod(value.shape) > _LARGEST_CONSTANT:
        return anything(value.dtype)
    if value.shape == () and kind.letter != "b":
        return _of_scalar(value.constant, kind)
    try:
        array = np.asarray(value.constant)
    except (TypeError, ValueError):  # Such as a typed key.
        return anything(value.dtype)
    if array.size == 0:
        return anything(value.dtype)
    if array.dtype.kind not in "biuf":
        array = array.astype(np.float64)  # bfloat16 and its kin
    return of_array(array)


def _of_scalar(constant: Any, kind: Kind) -> Interval:
    """The interval of a single number, of which there are most."""
    if kind.is_integer:
        whole = int(constant)
        is_end = whole in (kind.low, kind.high) and whole != 0 and kind.high >= 2**31 - 1
        return Interval(whole, whole, False, True, () if is_end else (Point(whole),))
    # A literal of Python has more digits than its dtype holds: in 32 bits, `1 - 1e-9` is one.
    number = float(kind.number(constant))
    if number != number:
        return Interval(-math.inf, math.inf, nan=True)
    if 0 < abs(number) < kind.tiny:  # It may be flushed to zero.
        return Interval(min(number, 0.0), max(number, 0.0)).with_points((Point(number),))
    return Interval(number, number, False, number.is_integer(), (Point(number),))


def of_array(array: Any) -> Interval:
    """The interval of a numpy array that is not empty."""
    if array.dtype.kind != "f":
        low, high = int(array.min()), int(array.max())
        interval = Interval(low, high, integral=True)
        # The ends of a wide dtype stand for "no limit", and are never counted up to.
        if array.dtype.itemsize >= 4 and {low, high} & _ends(array.dtype):
            return interval
        return interval.with_points(_points(array, low, high))
    is_nan = np.isnan(array)
    if is_nan.all():
        return Interval(-math.inf, math.inf, nan=True)
    numbers = array[~is_nan]
    low_float, high_float = float(numbers.min()), float(numbers.max())
    with np.errstate(invalid="ignore"):
        integral = bool((np.floor(numbers) == numbers).all())
    return Interval(low_float, high_float, bool(is_nan.any()), integral).with_points(
        _points(numbers, low_float, high_float)
    )


def _ends(dtype: Any) -> set[int]:
    info = np.iinfo(dtype)
    return {int(info.max), int(info.min)} - {0}


def _points(array: Any, low: Number, high: Number) -> list[Point]:
    located = low != high
    found = [Point(low, located=located), Point(high, located=located)]
    if low < 0 < high and not array.all():
        found.append(Point(type(low)(0), located=True))
    return found


def interval_of_input(dtype: Any, declared: tuple[Number, Number] | None) -> Interval:
    """What is known of an input: its declared range, else its dtype.

    An example is not a bound, so the contents of the arguments count for nothing here. The ends of
    a declared range are reached, and so are those of a dtype with few bits.
    """
    kind = kind_of(dtype)
    if declared is None:
        top = anything(dtype)
        if dtype in _FULLY_USED:
            ends = (top.low, top.high)
            return top.with_points(Point(end, presumed=True) for end in ends)
        return top
    low, high = max(declared[0], kind.low), min(declared[1], kind.high)
    integral = kind.is_integer or kind.letter == "b"
    number = int if integral and math.isfinite(low) and math.isfinite(high) else float
    interval = Interval(number(low), number(high), nan=False, integral=integral)
    finite = [end for end in (interval.low, interval.high) if math.isfinite(end)]
    return interval.with_points(map(Point, finite))
