"""Arrays with the same axes in different orders: who hands them on, and what follows from it.

A function that compares two arrays axis by axis is right; its caller, who has them in two layouts,
is not.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...finding import Place
from ..program import Step, Value
from .analysis import AxisAnalysis
from .axis import Clash, Dimension
from .moves import way_of

# Where axes meet, and in what.
Meeting = tuple[Step | None, str]


def handed_at(analysis: AxisAnalysis, clash: Clash) -> Place | None:
    """The call that hands both arrays on as they are; `None` if they are not only laid out apart.

    It is the one in the innermost function that knows of either more than it was given.
    """
    found: Place | None = None
    frames = clash.step.frames if clash.step is not None else ()
    while len(frames) > 1:
        given = [_given(analysis, it, frames) for it in (clash.first, clash.second)]
        if not _are_turned(analysis, clash, given):
            break
        frames = frames[1:]
        found = frames[0]
    return found


def settled_with(analysis: AxisAnalysis, clash: Clash) -> frozenset[Meeting]:
    """The meetings that there would not be, had one of two arrays its axes in the other's order."""
    before = frozenset(map(_meeting, analysis.clashes))
    pair = (clash.first, clash.second)
    if len(before) < 2 or not _are_turned(analysis, clash, [it.value for it in pair]):
        return frozenset()
    exchanged = {clash.first_name: clash.second_name, clash.second_name: clash.first_name}
    for made in filter(None, (_laid_out(analysis, clash, it) for it in pair)):
        instead = analysis.otherwise({made: exchanged}, {})
        after = frozenset(map(_meeting, instead.clashes))
        if after <= before - {_meeting(clash)}:
            return before - after
    return frozenset()


def _meeting(clash: Clash) -> Meeting:
    return (clash.step, clash.where)


def _laid_out(analysis: AxisAnalysis, clash: Clash, dimension: Dimension) -> Value | None:
    """The first array that a program makes with both axes where they are by now."""
    both, found = {clash.first_name, clash.second_name}, None
    for value, _ in way_of(analysis, dimension):
        if value.producer is None or not both <= set(analysis.names(value)):
            break
        found = value
    return found


def _given(analysis: AxisAnalysis, dimension: Dimension, frames: tuple[Place, ...]) -> Value | None:
    """What a run of a function was given of an array, if it did not make it itself."""
    for value, _ in way_of(analysis, dimension):
        if value.producer is None or not _is_run_in(value.producer, frames):
            return value
    return None


def _is_run_in(step: Step, frames: tuple[Place, ...]) -> bool:
    """Whether a step is in one run of a function, or in what that calls."""
    outer = frames[1:]
    inner = step.frames[: len(step.frames) - len(outer)]
    function = inner[-1].function if inner else ""
    return step.frames[len(inner) :] == outer and function == frames[0].function


def _are_turned(analysis: AxisAnalysis, clash: Clash, given: Iterable[Value | None]) -> bool:
    """Whether two arrays have both axes, each before the other in one of them."""
    both = (clash.first_name, clash.second_name)
    orders: set[tuple[str | None, ...]] = set()
    for value in given:
        names = [] if value is None else [it for it in analysis.names(value) if it in both]
        if sorted(filter(None, names)) != sorted(both):
            return False
        orders.add(tuple(names))
    return len(orders) > 1
