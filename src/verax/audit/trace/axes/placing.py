"""Which step put an axis where it meets another: the one to mend."""

from __future__ import annotations

from dataclasses import dataclass

from ..program import Step, Value
from .analysis import AxisAnalysis
from .axis import Clash, Dimension

_MOVES = frozenset(("transpose", "expand_dims", "broadcast_in_dim", "reshape"))
_MOST = 1000


@dataclass(frozen=True)
class _Move:
    """What decided where an axis lies.

    It `entered` a map or a scan that takes away the axis which is expected; or what expects that
    axis was `repeated`, since it has fewer axes. A map may give it back `elsewhere` than it was.
    """

    step: Step
    entered: bool = False
    repeated: bool = False
    elsewhere: bool = False

    @property
    def weight(self) -> int:
        """How much it is to blame: what maps more than what takes an axis, and that than a move."""
        return 2 if self.step.kind == "map" else 1 if _takes(self.step) else 0


def placed_by(analysis: AxisAnalysis, clash: Clash) -> Step | None:
    """The step by which one of two axes came to where it meets the other; `None` if unclear.

    That is the last one on the way of either that moved it, or that took away the axis which is
    expected there. Where both were moved, the one in a function of its own is to blame: nobody
    sees there what it will meet.
    """
    meeting = clash.step
    if meeting is None or meeting.place is None or clash.where == "declared":
        return None
    ways = (
        (clash.first, clash.second_name, clash.second),
        (clash.second, clash.first_name, clash.first),
    )
    moves = [_last_move(analysis, dimension, other) for dimension, other, _ in ways]
    entered = {move.step for move in moves if move is not None and move.entered}
    if len(entered) == 1:
        return entered.pop()
    found: list[_Move] = []
    for move, (own, _, beside) in zip(moves, ways, strict=True):
        if move is None or move.step.place is None:
            continue
        is_mask = own.value.dtype == bool
        if move.step.place.line == meeting.place.line:
            # Who aligns one where they meet sees both, unless a map has turned the other round.
            return next((it.step for it in moves if it and _is_turned_round(it, meeting)), None)
        # What has too few axes is aligned where they meet, unless it is a statistic of the other.
        if not move.repeated or (not is_mask and _is_made_from(analysis, move.step, beside)):
            found.append(move)
    if sum(move.elsewhere for move in found) == 1:
        found = [move for move in found if move.elsewhere]
    if len(found) > 1:
        most = max(move.weight for move in found)
        here = meeting.place.function
        found = [it for it in found if it.weight == most and _function(it.step) != here]
    return found[0].step if len({_function(move.step) for move in found}) == 1 else None


def _is_turned_round(move: _Move, meeting: Step) -> bool:
    """Whether a map has put an axis elsewhere, in another line than that of a meeting."""
    if move.step.place is None or meeting.place is None:
        return False
    return move.elsewhere and move.step.place.line != meeting.place.line


def _function(step: Step) -> str | None:
    return step.place.function if step.place is not None else None


def _is_made_from(analysis: AxisAnalysis, step: Step, other: Dimension) -> bool:
    at = (other.value, other.index)
    while at in analysis.came_from and at[0] not in step.inputs and _is_implied(at[0].producer):
        at = analysis.came_from[at]
    return at[0] in step.inputs


def _last_move(analysis: AxisAnalysis, dimension: Dimension, other: str) -> _Move | None:
    """The last step that decided where an axis lies, in place of one with another name."""
    at = (dimension.value, dimension.index)
    repeated = False
    for _ in range(_MOST):
        # A scan has to be given its axis first, and puts it first: that is nobody's choice.
        if at not in analysis.came_from or _is_stacked(*at):
            return None
        before = analysis.came_from[at]
        if at[0] in analysis.entered:
            step = analysis.entered[at[0]]
            if analysis.over[step].label == other:
                return _Move(step, entered=True)
        elif at[0].producer is not None and _moves(analysis, at, before, other):
            step = at[0].producer
            results = step.detail.results if step.kind == "map" else ()
            elsewhere = any(out is at[0] and _is_elsewhere(step, axis) for out, _, axis in results)
            return _Move(step, repeated=repeated, elsewhere=elsewhere)
        repeated = repeated or (
            len(at[0].shape) > len(before[0].shape) and _is_implied(at[0].producer)
        )
        at = before
    return None


def _is_stacked(value: Value, index: int) -> bool:
    """Whether a dimension is made of the turns of a scan."""
    step = value.producer
    return step is not None and step.kind == "scan" and index == 0 and value in step.detail.stacked


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
