"""Bounds of sums, differences and products, before a dtype rounds them."""

from __future__ import annotations

import math

from .interval import Interval, Number


def times(a: Number, b: Number) -> Number:
    """A product of bounds: zero times unbounded is zero."""
    return 0 if a == 0 or b == 0 else a * b


def add_bounds(a: Interval, b: Interval) -> tuple[Number, Number]:
    """The bounds of a sum."""
    return _sum(a.low, b.low, -math.inf), _sum(a.high, b.high, math.inf)


def sub_bounds(a: Interval, b: Interval) -> tuple[Number, Number]:
    """The bounds of a difference."""
    return _sum(a.low, -b.high, -math.inf), _sum(a.high, -b.low, math.inf)


def mul_bounds(a: Interval, b: Interval) -> tuple[Number, Number]:
    """The bounds of a product."""
    corners = [times(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
    return min(corners), max(corners)


def _sum(a: Number, b: Number, otherwise: float) -> Number:
    total = a + b
    return otherwise if total != total else total
