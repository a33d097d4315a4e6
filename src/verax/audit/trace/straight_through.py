"""Straight-through estimators: the value of one thing with the gradient of another.

`x + stop_gradient(q - x)` is taken apart into its terms: how often the value has each of them, and
how often the gradient has. So it does not matter how the sum is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .gradients import Flow, is_inexact, plain, steps_of
from .program import Step, Value

_SUMS = ("add", "add_any", "sub")
_DEEPEST = 6


@dataclass(eq=False)
class Part:
    """A term of a sum: how often the value has it, and how often the gradient has."""

    term: Value
    value: int = 0
    slope: int = 0


@dataclass(frozen=True, eq=False)
class Sum:
    """What is added up, with `stop_gradient` around some of it or not."""

    step: Step
    parts: list[Part]
    has_stop: bool


@dataclass(frozen=True, eq=False)
class Exchanged:
    """A sum with the value of what has a gradient, and nothing of the value of what has none."""

    step: Step
    hard: Value
    soft: Value


def exchanged(flow: Flow) -> Iterator[Exchanged]:
    """Straight-through estimators the wrong way round.

    What was rounded has no gradient. Where its value cancels too, it is there for nothing.
    """
    for it in _sums(flow):
        gone = [part for part in it.parts if not part.value] if it.has_stop else []
        kept = [part for part in it.parts if part.value and flow.gets(part.term)]
        for hard in gone:
            soft = next((part for part in kept if _replaces(flow, it, part, hard)), None)
            if soft is not None:
                yield Exchanged(it.step, hard.term, soft.term)
                break


def passed_through(flow: Flow) -> Iterator[Step]:
    """Straight-through estimators that give a gradient to what would have none."""
    for it in _sums(flow):
        hard = [part for part in it.parts if part.value > 0]
        soft = [part for part in it.parts if not part.value and part.slope > 0]
        for other in soft:
            if any(_is_cut(flow, part.term, other.term) for part in hard):
                yield it.step


def opposed(flow: Flow) -> Iterator[tuple[Step, bool]]:
    """Sums whose value has nothing of a term, and whose gradient has that term's with a minus.

    Where all is stopped, or nothing, the gradient has nothing of the term either.
    """
    for it in _sums(flow):
        forward = [part.term for part in it.parts if part.value]
        for part in it.parts:
            if part.value or part.slope > 0 or not flow.gets(part.term):
                continue
            if any(_is_cut(flow, term, part.term) for term in forward):
                yield it.step, part.slope == 0


def _replaces(flow: Flow, whole: Sum, soft: Part, hard: Part) -> bool:
    """Whether a sum has the value of one term where it should have that of a rounded one."""
    if _is_cut(flow, hard.term, soft.term):
        return True
    if soft.slope or not hard.slope:
        return False
    if any(it.value and _is_cut(flow, it.term, soft.term) for it in whole.parts):
        return False  # A rounded value is there.
    # The gradient is that of the one, which is rounded in part, and the value that of the other.
    within = flow.slice([hard.term]) - flow.slice([soft.term])
    return any(is_inexact(it) and _is_cut(flow, it, soft.term) for it in within)


def _is_cut(flow: Flow, value: Value, term: Value) -> bool:
    """Whether a value is one with its gradient cut off: by rounding, not on purpose."""
    if not flow.uses(value) & ~flow.gets(value) & flow.gets(term):
        return False
    reached = flow.slice([value])
    return all(link.blocker != "stop_gradient" for it in reached for link in flow.back.get(it, ()))


def _sums(flow: Flow) -> Iterator[Sum]:
    """All sums in which a term cancels, in value or in gradient."""
    inner: set[Step] = set()
    for step in reversed(list(steps_of(flow.body))):
        if step.primitive not in _SUMS or step in inner or step.outputs[0] not in flow.needed:
            continue
        parts: dict[int, Part] = {}
        has_stop = _add(flow, step.outputs[0], (1, 1), parts, inner, 0)
        if any(not part.value for part in parts.values()):
            yield Sum(step, list(parts.values()), has_stop)


def _add(
    flow: Flow,
    term: Value,
    counts: tuple[int, int],
    parts: dict[int, Part],
    inner: set[Step],
    depth: int,
) -> bool:
    """Add to the parts what a sum is made of, and say whether anything of it is stopped."""
    term, (value, slope) = plain(term), counts
    step = term.producer
    if step is not None and step.primitive == "stop_gradient":
        _add(flow, step.inputs[0], (value, 0), parts, inner, depth + 1)
        return True
    if step is not None and depth < _DEEPEST and step.primitive == "neg":
        return _add(flow, step.inputs[0], (-value, -slope), parts, inner, depth + 1)
    if step is not None and depth < _DEEPEST and step.primitive in _SUMS:
        inner.add(step)
        sign = -1 if step.primitive == "sub" else 1
        stops = _add(flow, step.inputs[0], counts, parts, inner, depth + 1)
        second = (sign * value, sign * slope)
        return _add(flow, step.inputs[1], second, parts, inner, depth + 1) or stops
    part = parts.setdefault(flow.same.number(term), Part(term))
    part.value += value
    part.slope += slope
    return False
