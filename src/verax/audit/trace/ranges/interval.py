"""What is known about the numbers in an array: bounds that hold, and points that are reached.

The two say different things. `low` and `high` hold for every element in every run; when nothing is
known they are those of the dtype. `points` are numbers that some element does take, because
something in the program says so: a literal in `where`, the floor of a `maximum`, a declared range.
What is proved rests on bounds; what is reported rests on points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..program import Step, Value

Number = int | float

# A predicate (without its negations and broadcasts) and what it has to be; `None` when it only
# takes part in the decision.
Condition = tuple[Value, bool | None]

# More points than these say nothing new, and would make loops slow.
_MOST_POINTS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Point:
    """A number that an array takes, the step that makes it so, and under which conditions.

    A `located` one is at particular positions (the zero of `arange`), which a slice may leave out.
    A `presumed` one is the end of an input's small dtype, as pixels take it and labels need not.
    """

    value: Number
    origin: Step | None = None
    when: frozenset[Condition] = frozenset()
    located: bool = False
    presumed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Bounds of an array's elements, which hold for all that are not nan.

    `nan` says whether an element can be nan, `integral` that each is a whole number (or infinite).
    """

    low: Number
    high: Number
    nan: bool = False
    integral: bool = False
    points: tuple[Point, ...] = ()

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are finite."""
        return self.low > -math.inf and self.high < math.inf

    @property
    def is_single(self) -> bool:
        """Whether there is only one number that it can be."""
        return self.low == self.high and not self.nan

    def contains(self, number: Number) -> bool:
        """Whether a number lies within the bounds."""
        return self.low <= number <= self.high

    def same_bounds(self, other: Interval) -> bool:
        """Whether two say the same of every element."""
        return (self.low, self.high, self.nan, self.integral) == (
            other.low,
            other.high,
            other.nan,
            other.integral,
        )

    def with_points(self, points: Iterable[Point]) -> Interval:
        """The same bounds, with those of the points that lie within them."""
        points = tuple(points)
        if not points:
            return self if not self.points else replace(self, points=())
        kept = dict[Number, Point]()
        for point in points:
            known = kept.get(point.value)
            # Of two ways to the same number, the one with fewer conditions is the more certain.
            fewer = known is None or len(point.when) < len(known.when)
            if self.contains(point.value) and fewer:
                kept[point.value] = point
        chosen = tuple(kept.values())
        if len(chosen) > _MOST_POINTS:
            order = sorted(chosen, key=lambda it: it.value)
            near_zero = sorted(order[1:-1], key=lambda it: abs(it.value))
            chosen = (order[0], order[-1], *near_zero[: _MOST_POINTS - 2])
        return replace(self, points=chosen)

    def without_points(self) -> Interval:
        """The same bounds alone."""
        return replace(self, points=()) if self.points else self

    def everywhere(self) -> Interval:
        """The same for a part of the array: without points at particular positions."""
        if any(point.located for point in self.points):
            return replace(self, points=tuple(it for it in self.points if not it.located))
        return self

    def located(self) -> Interval:
        """The same for an array of which this is a part."""
        points = tuple(replace(point, located=True) for point in self.points)
        return replace(self, points=points) if points else self

    def union(self, other: Interval) -> Interval:
        """What is either one or the other."""
        return Interval(
            min(self.low, other.low),
            max(self.high, other.high),
            self.nan or other.nan,
            self.integral and other.integral,
        ).with_points((*self.points, *other.points))

    def within(self, low: Number, high: Number) -> Interval:
        """This, known to lie between two numbers as well. Comparisons are false for nan."""
        low, high = max(self.low, low), min(self.high, high)
        if low > high:  # Never happens in a run: anything holds.
            return Interval(low, low, False, self.integral)
        return Interval(low, high, False, self.integral).with_points(self.points)

    def reached(self, is_bad: Callable[[Number], bool]) -> Point | None:
        """A point with a property, those without conditions first."""
        found = [point for point in self.points if is_bad(point.value)]
        return min(found, key=lambda it: len(it.when), default=None)

    def __str__(self) -> str:
        if self.low == self.high:
            text = shown(self.low)
        elif self.is_bounded:
            text = f"[{shown(self.low)}, {shown(self.high)}]"
        elif self.low > -math.inf:
            text = f"≥ {shown(self.low)}"
        elif self.high < math.inf:
            text = f"≤ {shown(self.high)}"
        else:
            text = "unbounded"
        return text


def shown(number: Number) -> str:
    """A number for reading."""
    if math.isfinite(number) and float(number).is_integer():
        whole = int(number)
        return str(whole) if abs(whole) < 10**7 else f"{number:.3g}"
    return f"{number:.4g}"


@dataclass(frozen=True)
class Kind:
    """A dtype as far as numbers go. `letter` is that of numpy, or "?" (keys, complex numbers)."""

    letter: str
    low: Number
    high: Number
    number: Callable[[Any], Any] = float
    tiny: float = 0.0
    eps: float = 0.0

    @property
    def is_integer(self) -> bool:
        """Whether it is a kind of integer; truth values are not."""
        return self.letter in "iu"

    @property
    def is_float(self) -> bool:
        """Whether it is a kind of real floating-point number."""
        return self.letter == "f"


_NO_NUMBER = Kind("?", -math.inf, math.inf)


@lru_cache(maxsize=256)
def kind_of(dtype: Any) -> Kind:
    """The kind of numbers of a dtype."""
    import jax.numpy as jnp

    if dtype is None or jnp.issubdtype(dtype, jnp.complexfloating):
        return _NO_NUMBER
    if dtype == np.bool_:
        return Kind("b", 0, 1)
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        letter = "u" if info.min == 0 else "i"
        return Kind(letter, int(info.min), int(info.max))
    if jnp.issubdtype(dtype, jnp.floating):
        float_info = jnp.finfo(dtype)
        number = np.dtype(dtype).type
        return Kind("f", -math.inf, math.inf, number, float(float_info.tiny), float(float_info.eps))
    return _NO_NUMBER


@lru_cache(maxsize=256)
def anything(dtype: Any) -> Interval:
    """What is known of a value of which only the dtype is."""
    kind = kind_of(dtype)
    return Interval(
        kind.low, kind.high, nan=kind.letter in "f?", integral=kind.is_integer or kind.letter == "b"
    )


def rounded(number: Number, dtype: Any) -> Number:
    """A number as a dtype holds it."""
    kind = kind_of(dtype)
    if not kind.is_float:
        return number
    return float(kind.number(number))


def fitted(
    low: Number, high: Number, dtype: Any, *, nan: bool = False, integral: bool = False
) -> Interval:
    """Bounds that were computed exactly, as a dtype holds them.

    Integers that leave their dtype wrap around, so that nothing is known. Floats are rounded
    outwards where they have to be rounded; and small ones may be flushed to zero.
    """
    kind = kind_of(dtype)
    if kind.is_integer or kind.letter == "b":
        if low < kind.low or high > kind.high or low != low or high != high:
            return anything(dtype)
        return Interval(_whole(low, math.floor), _whole(high, math.ceil), integral=True)
    if not kind.is_float:
        return anything(dtype)
    low = -math.inf if low != low else _outward(low, kind, -math.inf)
    high = math.inf if high != high else _outward(high, kind, math.inf)
    return Interval(low, high, nan, integral)


def _whole(number: Number, rounding: Callable[[Number], int]) -> int:
    return number if isinstance(number, int) else rounding(number)


def _outward(number: Number, kind: Kind, towards: float) -> float:
    near = kind.number(number)
    near_float = float(near)
    if near_float != number and (near_float < number) != (towards < 0):
        # A step of the dtype itself, which is longer than one of Python's floats.
        near_float = float(np.nextafter(near, kind.number(towards)))
    if 0 < abs(near_float) < kind.tiny and (near_float > 0) == (towards < 0):
        return 0.0
    return near_float


def spread(interval: Interval, relative: float, dtype: Any) -> Interval:
    """Wider by a relative error, for operations that round more than once."""
    low, high = interval.low, interval.high
    slack_low = abs(low) * relative if abs(low) < math.inf else 0.0
    slack_high = abs(high) * relative if abs(high) < math.inf else 0.0
    return fitted(
        low - slack_low, high + slack_high, dtype, nan=interval.nan, integral=False
    ).with_points(interval.points)
