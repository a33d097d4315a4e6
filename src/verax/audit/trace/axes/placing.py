"""Which step put an axis where it meets another: the one to mend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from ...placing import MAPS, TAKES, TURNS, Move, the_one_of, to_blame
from ..program import Step, Value
from .analysis import AxisAnalysis
from .axis import Clash, Dimension

_MOVES = frozenset(("transpose", "expand_dims", "broadcast_in_dim", "reshape"))
_MOST = 1000
# Each means following all axes of the program again.
_TRIED = 8


@dataclass(frozen=True)
class _Move(Move):
    """What decided where an axis lies, as a step of the program."""

    step: Step = field(kw_only=True)


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
        if any(it is value for it, _ in _way(analysis, own)):
            return _fits(analysis, own, beside, without=name)
    return False


def _way(analysis: AxisAnalysis, dimension: Dimension) -> Iterator[tuple[Value, int]]:
    """The dimensions that one continues, itself first."""
    at = (dimension.value, dimension.index)
    for _ in range(_MOST):
        yield at
        if at not in analysis.came_from:
            return
        at = analysis.came_from[at]


def _fits(
    analysis: AxisAnalysis, own: Dimension, beside: Dimension, without: str | None = None
) -> bool:
    """Whether an array as it was written lines up with another, by the names of their axes."""
    value = _as_written(analysis, own)
    names = [it for it in analysis.names(value) if it is None or it != without]
    pairs = zip(reversed(names), reversed(analysis.names(beside.value)), strict=False)
    return all(one == other or None in (one, other) for one, other in pairs)


def _as_written(analysis: AxisAnalysis, dimension: Dimension) -> Value:
    """The array before broadcasting."""
    return next(value for value, _ in _way(analysis, dimension) if not _is_implied(value.producer))


def _is_made_from(analysis: AxisAnalysis, step: Step, other: Dimension) -> bool:
    at, known = (other.value, other.index), _of_call(step)
    while at in analysis.came_from and at[0] not in known and _is_implied(at[0].producer):
        at = analysis.came_from[at]
    return at[0] in known


def _move_to_mend(
    analysis: AxisAnalysis, clash: Clash, own: Dimension, beside: Dimension
) -> _Move | None:
    """The step on the way of an axis that would mend most, of such the last one."""
    is_first = own is clash.first
    names = (clash.first_name, clash.second_name)
    name, other = names if is_first else names[::-1]
    best, most, is_widened = None, 0, False
    for move in islice(_moves_of(analysis, own, other, beside), _TRIED):
        count = _mended(analysis, clash, move, name, other)
        if not count and move.widens and not is_widened:
            # What is given axes can be given them elsewhere.
            count = int(name in analysis.names(beside.value))
        is_widened = is_widened or move.widens
        if count > most:
            best, most = move, count
    return best


def _mended(analysis: AxisAnalysis, clash: Clash, move: _Move, name: str, other: str) -> int:
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
        exchanged = {name: other, other: name}
        instead = analysis.otherwise(dict.fromkeys(step.outputs, exchanged), {})
    before, after = (_meetings(it.clashes) for it in (analysis, instead))
    is_mended = (clash.step, clash.where) not in after and after <= before
    return len(before - after) if is_mended else 0


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
    known = {it for value in _of_call(step) for it in analysis.names(value)}
    return step.kind == "map" or {name, other} <= known


def _of_call(step: Step) -> list[Value]:
    """What the call works on that a step is a part of, and all that it makes up to there."""
    found = list(step.outputs)
    for value in found:
        made_by = value.producer
        is_part = made_by is step or (made_by is not None and made_by.call_site == step.call_site)
        if made_by is not None and is_part and len(found) < _MOST:
            found.extend(it for it in made_by.inputs if it not in found)
    return found


def _moves_of(
    analysis: AxisAnalysis, dimension: Dimension, other: str, beside: Dimension
) -> Iterator[_Move]:
    """The steps that decided where an axis lies, in place of another, the last one first."""
    at = (dimension.value, dimension.index)
    has_both = other in analysis.names(dimension.value)
    repeated = False
    for _ in range(_MOST):
        if at not in analysis.came_from or _is_stacked(analysis, *at, other):
            return
        before = analysis.came_from[at]
        if at[0] in analysis.entered:
            step = analysis.entered[at[0]]
            is_gone = analysis.over[step].label == other and not has_both
            if is_gone and step.place is not None:
                yield _Move(step.place, _weight(step), entered=True, step=step)
        elif (step := at[0].producer) is not None and _moves(analysis, at, before, other):
            if step.place is None:
                return
            results = step.detail.results if step.kind == "map" else ()
            elsewhere = any(out is at[0] and _is_elsewhere(step, axis) for out, _, axis in results)
            # What lacks axes is aligned where they meet, unless it is a statistic of the other.
            is_statistic = dimension.value.dtype != bool and _is_made_from(analysis, step, beside)
            widens = step.primitive in _MOVES and len(at[0].shape) > len(before[0].shape)
            yield _Move(
                step.place,
                _weight(step),
                elsewhere=elsewhere,
                widens=widens,
                needless=widens and _fits(analysis, Dimension(*before), beside),
                lacks=repeated and not is_statistic,
                step=step,
            )
        repeated = repeated or (
            len(at[0].shape) > len(before[0].shape) and _is_implied(at[0].producer)
        )
        at = before


def _weight(step: Step) -> int:
    return MAPS if step.kind == "map" else TAKES if _takes(step) else TURNS


def _is_stacked(analysis: AxisAnalysis, value: Value, index: int, other: str) -> bool:
    """Whether a dimension, or the one that is expected there, is made of the turns of a scan.

    A scan has to be given its axis first, and puts it first: that is nobody's choice.
    """
    step = value.producer
    if step is None or step.kind != "scan" or value not in step.detail.stacked:
        return False
    return index == 0 or (step in analysis.over and analysis.over[step].label == other)


def _moves(
    analysis: AxisAnalysis, at: tuple[Value, int], before: tuple[Value, int], other: str
) -> bool:
    """Whether the step that made a value decided where this axis of it lies."""
    value, index = at
    step = value.producer
    if step is None:
        return False
    if step.kind == "map":
        # It put the axis there, or it put the one elsewhere that is expected there.
        return any(
            axis == index or (analysis.over[step].label == other and _is_elsewhere(step, axis))
            for out, _, axis in step.detail.results
            if out is value
        )
    if step.primitive in _MOVES:
        return not _is_implied(step)
    if not _takes(step) or len(value.shape) >= len(before[0].shape):
        return False
    known = {it for source in _of_call(step) for it in analysis.names(source)}
    return other in known - set(analysis.names(value))


def _is_elsewhere(step: Step, index: int | None) -> bool:
    """Whether a map takes an axis of its arguments, and puts it at another position."""
    return index is not None and all(axis != index for _, _, axis in step.detail.mapped)


def _takes(step: Step) -> bool:
    """Whether a step may leave fewer axes: a reduction, or an index."""
    return _reduces(step) or step.primitive in ("squeeze", "gather", "dynamic_slice")


def _reduces(step: Step) -> bool:
    return step.primitive.startswith(("reduce_", "arg")) and step.primitive != "reduce_precision"


def _is_implied(step: Step | None) -> bool:
    """Whether broadcasting or `keepdims` made a step, and nobody wrote it."""
    if step is None or step.primitive not in _MOVES:
        return False
    made, source = step.outputs[0], step.inputs[0].producer
    kept = source is not None and source.call_site == step.call_site and _reduces(source)
    users = made.consumers
    return kept or (bool(users) and all(it.call_site == step.call_site for it in users))
