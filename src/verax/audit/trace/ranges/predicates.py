"""What follows for a value where a predicate about it is true, or false.

`where(x > 0, x, 1)` is positive: in the branch that it takes when `x > 0`, so is `x`.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..program import Value
from .identity import unarranged
from .interval import Condition, Interval, Number, kind_of

if TYPE_CHECKING:
    from .analysis import Ranges

_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}

# A fact is about a value: a comparison with an interval, and whether nan is ruled out by it. It is
# not where the opposite comparison is false.
Fact = tuple[Value, str, Interval, bool]


def implied(ranges: Ranges, predicate: Value, truth: bool) -> Iterator[Fact]:
    """The comparisons that hold where a predicate is as given.

    For `a & b` that is true both are; for `a | b` that is true nothing is known of either.
    """
    step = predicate.producer
    if step is None or step.kind != "operation":
        return
    name = step.primitive
    if name == "not":
        yield from implied(ranges, step.inputs[0], not truth)
    elif (name == "and" and truth) or (name == "or" and not truth):
        for value in step.inputs:
            yield from implied(ranges, value, truth)
    elif name in ("stop_gradient", "copy") or (
        name == "convert_element_type" and kind_of(step.inputs[0].dtype).letter == "b"
    ):
        yield from implied(ranges, step.inputs[0], truth)
    elif name in _OPPOSITE:
        left, right = step.inputs
        comparison = name if truth else _OPPOSITE[name]
        if _is_truth(left, right, ranges):
            # `mask == True`, `index != 0`
            wanted = bool(ranges[right].low) == (comparison == "eq")
            yield from implied(ranges, left, wanted)
        ordered = comparison != "ne" and (truth or comparison == "eq")
        yield left, comparison, ranges[right], ordered
        yield right, _MIRRORED[comparison], ranges[left], ordered
    elif name == "is_finite" and truth:
        yield step.inputs[0], "finite", ranges[step.inputs[0]], True


def _is_truth(left: Value, right: Value, ranges: Ranges) -> bool:
    is_number = ranges[right].is_single and ranges[right].low in (0, 1)
    producer = left.producer
    is_converted = (
        producer is not None
        and producer.primitive == "convert_element_type"
        and kind_of(producer.inputs[0].dtype).letter == "b"
    )
    return is_number and (kind_of(left.dtype).letter == "b" or is_converted)


def narrowed(interval: Interval, fact: Fact) -> Interval:
    """An interval, where a fact about its value holds."""
    value, comparison, other, ordered = fact
    if not ordered and other.nan:
        return interval
    found = _compared(interval, comparison, other, value.dtype)
    return found if ordered or not interval.nan else replace(found, nan=True)


def _compared(interval: Interval, comparison: str, other: Interval, dtype: object) -> Interval:
    if comparison == "lt":
        return interval.within(-math.inf, _before(other.high, dtype, -math.inf))
    if comparison == "le":
        return interval.within(-math.inf, other.high)
    if comparison == "gt":
        return interval.within(_before(other.low, dtype, math.inf), math.inf)
    if comparison == "ge":
        return interval.within(other.low, math.inf)
    if comparison == "eq":
        return interval.within(other.low, other.high)
    if comparison == "ne" and other.is_single:
        return _without(interval, other.low, dtype)
    if comparison == "finite":
        return _finite(interval)
    return interval


def _before(number: Number, dtype: object, towards: float) -> Number:
    """The next number of a dtype in a direction."""
    kind = kind_of(dtype)
    if not kind.is_float:
        step = 1 if towards > 0 else -1
        return number + step if math.isfinite(number) else number
    if not math.isfinite(number):
        return number
    with np.errstate(all="ignore"):
        return float(np.nextafter(kind.number(number), kind.number(towards)))


def _without(interval: Interval, number: Number, dtype: object) -> Interval:
    low, high = interval.low, interval.high
    if low == high == number:
        return interval
    low = _before(low, dtype, math.inf) if low == number else low
    high = _before(high, dtype, -math.inf) if high == number else high
    kept = [point for point in interval.points if point.value != number]
    # In the middle of an interval no bound says that a number is missing; `points` do.
    return Interval(low, high, interval.nan, interval.integral).with_points(kept)


def _finite(interval: Interval) -> Interval:
    kept = [point for point in interval.points if math.isfinite(point.value)]
    return Interval(interval.low, interval.high, False, interval.integral).with_points(kept)


def chosen(ranges: Ranges, value: Value, predicate: Value, truth: bool) -> Interval:
    """A value's interval where a predicate of the same shape is as given."""
    interval = ranges[value]
    for fact in implied(ranges, predicate, truth):
        if ranges.identities.equal(fact[0], value):
            interval = narrowed(interval, fact)
    here = conditions(predicate, truth)
    bases = dict(here)
    kept = [
        point
        for point in interval.points
        if not any(
            base in bases and (bases[base] is None or wanted is None or bases[base] != wanted)
            for base, wanted in point.when
        )
    ]
    return interval.with_points(kept)


def conditions(predicate: Value, truth: bool | None) -> frozenset[Condition]:
    """Which predicates decide, without negations, broadcasts and the like."""
    predicate = unarranged(predicate)
    step = predicate.producer
    if step is not None and step.kind == "operation":
        if step.primitive == "not":
            return conditions(step.inputs[0], None if truth is None else not truth)
        if step.primitive in ("and", "or"):
            parts = [conditions(value, None) for value in step.inputs]
            return frozenset[Condition]().union(*parts)
        if step.primitive == "convert_element_type":
            return conditions(step.inputs[0], truth)
    return frozenset({(predicate, truth)})


@contextmanager
def refined(ranges: Ranges, index: Value, branch: int, branches: int) -> Generator[None]:
    """For a while, what is known where `index` has chosen this branch."""
    before: dict[Value, Interval] = {}
    facts = list(implied(ranges, index, bool(branch))) if branches == 2 else []
    outside, ranges.assumed = ranges.assumed, [*ranges.assumed, *facts]
    for fact in facts:
        value = fact[0]
        if not value.is_constant:
            before.setdefault(value, ranges[value])
            ranges[value] = narrowed(ranges[value], fact)
    try:
        yield
    finally:
        ranges.assumed = outside
        for value, interval in before.items():
            ranges[value] = interval
