"""How intervals cross the boundaries of steps that hold bodies.

Loops are written once: the carry starts as what enters, grows by what each pass over the body hands
on, and is widened when it does not settle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..counters import stride
from ..program import Loop, Step, Value
from .interval import Interval, Number, anything, kind_of
from .predicates import refined

if TYPE_CHECKING:
    from .analysis import Ranges

# Numbers at which a growing carry is likely to settle, before it is given up as unbounded.
_LEVELS = (0, 1, 255, 65535, 2**31 - 1)
_PASSES = 4


def _call(ranges: Ranges, step: Step) -> None:
    ranges.visit(step.bodies[0])


def _map(ranges: Ranges, step: Step) -> None:
    for outer, inner, _ in step.detail.mapped:
        ranges[inner] = ranges[outer]
        ranges.identities.add_depending([inner], [outer])
    ranges.visit(step.bodies[0])
    for outer, inner, _ in step.detail.results:
        ranges[outer] = ranges[inner]
        ranges.identities.add_depending([outer], [inner])


def _shard(ranges: Ranges, step: Step) -> None:
    for outer, inner, _ in step.detail.inputs:
        if outer is not inner:
            ranges[inner] = ranges[outer]
            ranges.identities.add_depending([inner], [outer])
    ranges.visit(step.bodies[0])
    for outer, inner, _ in step.detail.outputs:
        ranges[outer] = ranges[inner]
        ranges.identities.add_depending([outer], [inner])


def _derive(ranges: Ranges, step: Step) -> None:
    for outer, inner in step.detail.differentiated:
        ranges[inner] = ranges[outer]
        ranges.identities.add_depending([inner], [outer])
    ranges.visit(step.bodies[0])


def _opaque(ranges: Ranges, step: Step) -> None:
    ranges.identities.add_depending(step.outputs, step.inputs)
    for value in step.outputs:
        ranges[value] = anything(value.dtype)


def _cond(ranges: Ranges, step: Step) -> None:
    for number, body in enumerate(step.bodies):
        with refined(ranges, step.inputs[0], number, len(step.bodies)):
            ranges.visit(body)
    for index, value in enumerate(step.outputs):
        found = [ranges[body.outputs[index]] for body in step.bodies]
        joined = found[0]
        for other in found[1:]:
            joined = joined.union(other)
        ranges[value] = joined
        ranges.identities.add_depending(
            [value], [step.inputs[0], *(body.outputs[index] for body in step.bodies)]
        )


def _loop(ranges: Ranges, step: Step) -> None:
    loop: Loop = step.detail
    if not ranges.has_met(step):
        ranges.identities.add_depending([*loop.carry, *loop.slices, *step.outputs], step.inputs)
        for value in loop.carry:
            ranges.identities.add_source(value)
    for outer, inner in zip(loop.scanned, loop.slices, strict=True):
        ranges[inner] = ranges[outer]
    counted = _counters(ranges, loop)
    first = ranges.meets_first(step)
    for value, initial in zip(loop.carry, loop.initial, strict=True):
        start = counted.get(value, ranges[initial])
        # Inside of another loop, what held in its last pass is likely to hold again.
        ranges[value] = start if first else start.union(ranges[value])
    number = 0
    while _pass(ranges, step, counted, number):
        number += 1
    for final, initial, carried in zip(loop.final, loop.initial, loop.carried, strict=True):
        if loop.length == 0:
            ranges[final] = ranges[initial]
        elif loop.length:
            ranges[final] = ranges[carried]
        else:
            # Perhaps there is no iteration, but that is no evidence for the initial value.
            start = replace(ranges[initial], points=())
            ranges[final] = start.union(ranges[carried])
    for stacked, inner in zip(loop.stacked, loop.stacks, strict=True):
        ranges[stacked] = ranges[inner]


def _pass(ranges: Ranges, step: Step, counted: dict[Value, Interval], number: int) -> bool:
    """Go through the body once. Whether the carry has grown by it."""
    loop: Loop = step.detail
    ranges.visit(step.bodies[0])
    if loop.condition is not None:
        with refined(ranges, loop.condition, 1, 2):
            ranges.visit(step.bodies[1])
    grown = False
    for value, carried in zip(loop.carry, loop.carried, strict=True):
        if value in counted:
            continue
        before, after = ranges[value], ranges[value].union(ranges[carried])
        if not after.same_bounds(before):
            grown = True
            ranges[value] = _grown(before, after, value, number)
    return grown


def _grown(before: Interval, after: Interval, value: Value, number: int) -> Interval:
    """What to go on with, after a pass (they are numbered) in which a carry has grown."""
    if number == 0:
        return after
    if number == 1:
        return _widened(before, after, value)
    if number < _PASSES:
        return _given_up(before, after, value)
    return anything(value.dtype).with_points(after.points)


def _widened(before: Interval, after: Interval, value: Value) -> Interval:
    """Where a growing bound may settle: at the next level, or at the end of its dtype."""
    kind = kind_of(value.dtype)
    low, high = after.low, after.high
    if low < before.low:
        low = max((-it for it in _LEVELS if kind.low <= -it <= low), default=kind.low)
    if high > before.high:
        high = min((it for it in _LEVELS if high <= it <= kind.high), default=kind.high)
    return replace(after, low=low, high=high)


def _given_up(before: Interval, after: Interval, value: Value) -> Interval:
    """As far as a bound that still grows may go; one that no longer does is kept."""
    kind = kind_of(value.dtype)
    return replace(
        after,
        low=kind.low if after.low < before.low else after.low,
        high=kind.high if after.high > before.high else after.high,
    )


def _counters(ranges: Ranges, loop: Loop) -> dict[Value, Interval]:
    """Carries that go up or down by a constant, in a loop whose length is known."""
    found: dict[Value, Interval] = {}
    if not loop.length:
        return found
    for value, initial, carried in zip(loop.carry, loop.initial, loop.carried, strict=True):
        by = stride(value, carried, lambda it: _number(ranges[it]))
        start = ranges[initial]
        kind = kind_of(value.dtype)
        if by is None or not kind.is_integer:
            continue
        travelled = by * (loop.length - 1)
        low = start.low + min(0, travelled)
        high = start.high + max(0, travelled)
        beyond = by * loop.length
        if start.low + min(0, beyond) < kind.low or start.high + max(0, beyond) > kind.high:
            continue
        points = [
            replace(it, value=it.value + way) for it in start.points for way in (0, travelled)
        ]
        found[value] = Interval(low, high, integral=True).with_points(points)
    return found


def _number(interval: Interval) -> Number | None:
    """The one number that is in an interval."""
    return interval.low if interval.is_single and math.isfinite(interval.low) else None


CONTROL: dict[str, Callable[[Ranges, Step], None]] = {
    "call": _call,
    "map": _map,
    "shard": _shard,
    "derive": _derive,
    "derivative": _opaque,
    "scan": _loop,
    "while": _loop,
    "cond": _cond,
}
