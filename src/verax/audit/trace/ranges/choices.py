"""Truth values, bits, and choices that depend on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..program import Step
from .interval import Interval, Point, fitted, kind_of
from .predicates import chosen, conditions

if TYPE_CHECKING:
    from .analysis import Ranges, Rule


def _compare(name: str) -> Rule:
    def rule(ranges: Ranges, step: Step) -> Interval:
        if kind_of(step.inputs[0].dtype).letter == "?":
            return Interval(0, 1, integral=True)
        a, b = ranges.of(step)
        decided = _decided(name, a, b)
        if decided is not None and not (a.nan or b.nan):
            return Interval(int(decided), int(decided), integral=True).with_points(
                [Point(int(decided), step)]
            )
        return Interval(0, 1, integral=True).with_points((Point(0, step), Point(1, step)))

    return rule


def _decided(name: str, a: Interval, b: Interval) -> bool | None:
    """The outcome of a comparison that is the same for all elements."""
    if name in ("gt", "ge"):
        return _decided({"gt": "lt", "ge": "le"}[name], b, a)
    if name == "lt":
        return True if a.high < b.low else False if a.low >= b.high else None
    if name == "le":
        return True if a.high <= b.low else False if a.low > b.high else None
    apart = a.high < b.low or b.high < a.low
    same = a.low == a.high == b.low == b.high
    if apart or same:
        return same == (name == "eq")
    return None


def _truth_values(ranges: Ranges, step: Step) -> Interval | None:
    """`and`, `or`, `xor`, `not` of truth values; of integers where bounds follow easily."""
    dtype = step.outputs[0].dtype
    if kind_of(dtype).letter == "b":
        decided = _logic(step.primitive, ranges.of(step))
        if decided is not None:
            return Interval(decided, decided, integral=True).with_points([Point(decided, step)])
        found = Interval(0, 1, integral=True)
        if all(ranges[value].points for value in step.inputs):
            return found.with_points((Point(0, step), Point(1, step)))
        return found
    operands = ranges.of(step)
    if not kind_of(dtype).is_integer or len(operands) < 2:
        return None
    masks = [it.high for it in operands if it.low >= 0]
    if step.primitive == "and" and masks:  # No bit is set that is not set in both.
        return fitted(0, min(masks), dtype, integral=True)
    if len(masks) < len(operands):
        return None
    a, b = operands
    filled = (1 << max(int(a.high).bit_length(), int(b.high).bit_length())) - 1
    low = max(a.low, b.low) if step.primitive == "or" else 0
    return fitted(low, min(filled, a.high + b.high), dtype, integral=True)


def _logic(name: str, operands: list[Interval]) -> int | None:
    """The outcome of a logical operation that is the same for all elements."""
    known = [bool(it.low) for it in operands if it.is_single]
    if name == "and" and False in known:
        return 0
    if name == "or" and True in known:
        return 1
    if len(known) < len(operands):
        return None
    outcomes = {"and": all(known), "or": any(known), "not": not known[0], "xor": sum(known) == 1}
    return int(outcomes[name])


def _shift_right(ranges: Ranges, step: Step) -> Interval | None:
    a, b = ranges.of(step)
    kind = kind_of(step.outputs[0].dtype)
    bits = int(kind.high - kind.low).bit_length()
    if b.low < 0 or b.high >= bits or (a.low < 0 and step.primitive == "shift_right_logical"):
        return None
    shifted = [int(it) >> int(by) for it in (a.low, a.high) for by in (b.low, b.high)]
    return Interval(min(shifted), max(shifted), integral=True)


def _shift_left(ranges: Ranges, step: Step) -> Interval | None:
    a, b = ranges.of(step)
    kind = kind_of(step.outputs[0].dtype)
    if a.low < 0 or b.low < 0 or b.high >= int(kind.high).bit_length():
        return None
    return fitted(
        int(a.low) << int(b.low), int(a.high) << int(b.high), step.outputs[0].dtype, integral=True
    )


def _select(ranges: Ranges, step: Step) -> Interval:
    which, *cases = step.inputs
    if len(cases) != 2 or kind_of(which.dtype).letter != "b":
        found = ranges[cases[0]]
        for value in cases[1:]:
            found = found.union(ranges[value])
        return found
    known = ranges[which]
    if known.is_single:
        return chosen(ranges, cases[int(known.low)], which, bool(known.low))
    wrapped = _wrapped_index(ranges, step)
    if wrapped is not None:
        return wrapped
    located = bool(which.shape) and ranges.identities.is_by_position(which)
    parts: list[Interval] = []
    for truth, value in enumerate(cases):
        interval = chosen(ranges, value, which, bool(truth))
        if located:
            interval = interval.located()
        here = conditions(which, bool(truth))
        points = [
            replace(it, origin=it.origin or step, when=it.when | here) for it in interval.points
        ]
        parts.append(interval.with_points(points))
    return parts[0].union(parts[1])


def _wrapped_index(ranges: Ranges, step: Step) -> Interval | None:
    """What indexing makes of an index: `where(i < 0, i + n, i)`."""
    which, index, wrapped = step.inputs
    comparison, addition = which.producer, wrapped.producer
    if comparison is None or addition is None:
        return None
    if comparison.primitive != "lt" or addition.primitive != "add":
        return None
    equal = ranges.identities.equal
    size = ranges[addition.inputs[1]]
    if not (
        equal(comparison.inputs[0], index)
        and equal(addition.inputs[0], index)
        and ranges[comparison.inputs[1]].high == ranges[comparison.inputs[1]].low == 0
        and size.is_single
    ):
        return None
    inside = ranges[index]
    n = int(size.low)
    if inside.low >= 0:
        return inside
    negative = Interval(int(inside.low) + n, min(int(inside.high), -1) + n, integral=True)
    found = negative
    if inside.high >= 0:
        found = negative.union(Interval(0, int(inside.high), integral=True))
    return found.with_points(
        replace(it, value=it.value + n if it.value < 0 else it.value) for it in inside.points
    )


def _unknown_truth(ranges: Ranges, step: Step) -> Interval:
    return Interval(0, 1, integral=True)


RULES: dict[str, Rule] = {
    "and": _truth_values,
    "or": _truth_values,
    "xor": _truth_values,
    "not": _truth_values,
    "shift_right_logical": _shift_right,
    "shift_right_arithmetic": _shift_right,
    "shift_left": _shift_left,
    "select_n": _select,
    "is_finite": _unknown_truth,
    **{name: _compare(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    # The total order tells zeros apart, which bounds do not.
    **dict.fromkeys(("eq_to", "le_to", "lt_to"), _unknown_truth),
}
