"""Which step put an axis where it meets another: the one to mend."""

from __future__ import annotations

from itertools import islice

from ...placing import the_one_of, to_blame
from ..program import Step, Value
from .analysis import AxisAnalysis
from .axis import Clash, Dimension
from .moves import StepMove, fits, moves_of, of_call, way_of, weight_of

_MOST = 1000
# Each means following all axes of the program again.
_TRIED = 8
# As many may have to be changed with one another.
_TOGETHER = 3


def placed_by(analysis: AxisAnalysis, clash: Clash) -> Step | None:
    """The step by which one of two axes came to where it meets the other; `None` if unclear.

    That is the last one on the way of either that moved it, or that took away the axis which is
    expected there.
    """
    meeting = clash.step
    if meeting is None or meeting.place is None or clash.where == "declared":
        return None
    for dimension in (clash.first, clash.second):
        if (repeating := _repeated_by(analysis, dimension)) is not None:
            return repeating
    if (whole := _given_whole_by(analysis, clash, meeting)) is not None:
        return whole
    moves = (
        _move_to_mend(analysis, clash, clash.first, clash.second),
        _move_to_mend(analysis, clash, clash.second, clash.first),
    )
    blamed = the_one_of(to_blame((it for it in moves if it is not None), meeting.place))
    return None if blamed is None else blamed.step


def _repeated_by(analysis: AxisAnalysis, dimension: Dimension) -> Step | None:
    """The step that merged an axis with one along which it is repeated: it chose the order."""
    at = (dimension.value, dimension.index)
    for _ in range(_MOST):
        factors = analysis.of(at[0])[at[1]].root().factors
        if not any(axis.root().repeated for axis, _ in factors):
            return None
        before = analysis.came_from.get(at)
        if before is None or not analysis.of(before[0])[before[1]].root().factors:
            return at[0].producer
        at = before
    return None


def _given_whole_by(analysis: AxisAnalysis, clash: Clash, meeting: Step) -> Step | None:
    """The map that leaves an array whole which would fit, did each lane get its own part."""
    for step in meeting.ancestors():
        name = analysis.over[step].label if step.kind == "map" else ""
        if name not in (clash.first_name, clash.second_name):
            continue
        given = (*step.detail.broadcast, *step.detail.closed_over)
        for value in islice((it for it in given if name in analysis.names(it)), _TRIED):
            instead = analysis.otherwise({value: {name: ""}}, {})
            mended = [it for it in analysis.clashes if not _is_among(it, instead.clashes)]
            is_cause = any(_fits_in_lanes(analysis, it, value, name) for it in mended)
            if is_cause and not _is_among(clash, instead.clashes):
                return step
    return None


def _is_among(clash: Clash, clashes: list[Clash]) -> bool:
    return (clash.step, clash.where) in _meetings(clashes)


def _fits_in_lanes(analysis: AxisAnalysis, clash: Clash, value: Value, name: str) -> bool:
    """Whether a clash is of an argument of a map, and would be none without the mapped axis."""
    for own, beside in ((clash.first, clash.second), (clash.second, clash.first)):
        if any(it is value for it, _ in way_of(analysis, own)):
            return fits(analysis, own, beside, without=name)
    return False


def _move_to_mend(
    analysis: AxisAnalysis, clash: Clash, own: Dimension, beside: Dimension
) -> StepMove | None:
    """The step on the way of an axis that would mend most, of such the last one."""
    is_first = own is clash.first
    names = (clash.first_name, clash.second_name)
    name, other = names if is_first else names[::-1]
    best, most, is_widened = None, 0, False
    for move in islice(moves_of(analysis, own, other, beside), _TRIED):
        count = _mended(analysis, clash, move, name, other)
        if not count and move.widens and not is_widened:
            # What is given axes can be given them elsewhere.
            count = int(name in analysis.names(beside.value))
        is_widened = is_widened or move.widens
        if count > most:
            best, most = move, count
    return best


def _mended(analysis: AxisAnalysis, clash: Clash, move: StepMove, name: str, other: str) -> int:
    """How many clashes there would not be, had a step left another axis in place of one.

    None, if something that fits would not fit any more.
    """
    step = move.step
    if move.entered:
        taken = _taken_instead(analysis, step, name, other)
        if not taken:
            return 0
        instead = analysis.otherwise({}, taken)
    else:
        if not _knows(analysis, step, name, other):
            return 0
        instead = _exchanged(analysis, step, name, other)
    before, after = (_meetings(it.clashes) for it in (analysis, instead))
    is_mended = (clash.step, clash.where) not in after and after <= before
    return len(before - after) if is_mended else 0


def _exchanged(analysis: AxisAnalysis, step: Step, name: str, other: str) -> AxisAnalysis:
    """The program, had a step left another axis in place of one.

    What makes the same choice for something beside it, in the same function, goes with it: two
    statistics of one array are taken along the same axis.
    """
    before = _meetings(analysis.clashes)
    changed = [step]
    while True:
        outputs = [value for it in changed for value in it.outputs]
        instead = analysis.otherwise({it: {name: other, other: name} for it in outputs}, {})
        new = [it for it in instead.clashes if (it.step, it.where) not in before]
        beside = _made_alike(analysis, step, new, other) - set(changed)
        if not beside or len(changed) > _TOGETHER:
            return instead
        changed.extend(beside)


def _made_alike(analysis: AxisAnalysis, step: Step, clashes: list[Clash], other: str) -> set[Step]:
    """The steps of a kind, in one function, that made what does not fit any more."""
    return {
        move.step
        for clash in clashes
        for own, beside in ((clash.first, clash.second), (clash.second, clash.first))
        for move in islice(moves_of(analysis, own, other, beside), 1)
        if not move.entered
        and (move.step.kind, move.weight) == (step.kind, weight_of(step))
        and step.place is not None
        and move.place.function == step.place.function
    }


def _meetings(clashes: list[Clash]) -> set[tuple[Step | None, str]]:
    return {(it.step, it.where) for it in clashes}


def _taken_instead(analysis: AxisAnalysis, step: Step, name: str, other: str) -> dict[Value, int]:
    """What a map or a scan takes one axis of, where it might have taken another."""
    if step.kind == "map":
        entered = step.detail.mapped
    else:
        entered = [(*both, 0) for both in zip(step.detail.scanned, step.detail.slices, strict=True)]
    found: dict[Value, int] = {}
    for outer, inner, axis in entered:
        names = analysis.names(outer)
        if names[axis] == other and name in names:
            found[inner] = names.index(name)
    return found


def _knows(analysis: AxisAnalysis, step: Step, name: str, other: str) -> bool:
    """Whether a step has both axes at hand, of which it put one in the other's place.

    A map has those of all its arguments. What one call does may be several steps.
    """
    known = {it for value in of_call(step) for it in analysis.names(value)}
    return step.kind == "map" or {name, other} <= known
