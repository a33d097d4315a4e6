"""Which step put an axis where it meets another: the one to mend."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...placing import MAPS, TAKES, TURNS, Move, the_one_of, to_blame
from ..program import Step, Value
from .analysis import AxisAnalysis
from .axis import Clash, Dimension

_MOVES = frozenset(("transpose", "expand_dims", "broadcast_in_dim", "reshape"))
_MOST = 1000


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
    moves = (
        _last_move(analysis, clash.first, clash.second_name, clash.second),
        _last_move(analysis, clash.second, clash.first_name, clash.first),
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


def _is_made_from(analysis: AxisAnalysis, step: Step, other: Dimension) -> bool:
    at = (other.value, other.index)
    while at in analysis.came_from and at[0] not in step.inputs and _is_implied(at[0].producer):
        at = analysis.came_from[at]
    return at[0] in step.inputs


def _last_move(
    analysis: AxisAnalysis, dimension: Dimension, other: str, beside: Dimension
) -> _Move | None:
    """The last step that decided where an axis lies, in place of one with another name."""
    at = (dimension.value, dimension.index)
    has_both = other in analysis.names(dimension.value)
    repeated = False
    for _ in range(_MOST):
        if at not in analysis.came_from or _is_stacked(analysis, *at, other):
            return None
        before = analysis.came_from[at]
        if at[0] in analysis.entered:
            step = analysis.entered[at[0]]
            is_gone = analysis.over[step].label == other and not has_both
            if is_gone and step.place is not None:
                return _Move(step.place, _weight(step), entered=True, step=step)
        elif (step := at[0].producer) is not None and _moves(analysis, at, before, other):
            if step.place is None:
                return None
            results = step.detail.results if step.kind == "map" else ()
            elsewhere = any(out is at[0] and _is_elsewhere(step, axis) for out, _, axis in results)
            # What lacks axes is aligned where they meet, unless it is a statistic of the other.
            is_statistic = dimension.value.dtype != bool and _is_made_from(analysis, step, beside)
            return _Move(
                step.place,
                _weight(step),
                elsewhere=elsewhere,
                widens=step.primitive in _MOVES and len(at[0].shape) > len(before[0].shape),
                lacks=repeated and not is_statistic,
                step=step,
            )
        repeated = repeated or (
            len(at[0].shape) > len(before[0].shape) and _is_implied(at[0].producer)
        )
        at = before
    return None


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
    taken = set(analysis.names(before[0])) - set(analysis.names(value))
    return _takes(step) and len(value.shape) < len(before[0].shape) and other in taken


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
