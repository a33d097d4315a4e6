"""The steps that decided where an axis lies, on its way through a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...placing import MAPS, TAKES, TURNS, Move
from ..program import Step, Value
from .analysis import AxisAnalysis
from .axis import Dimension

_MOVES = frozenset(("transpose", "expand_dims", "broadcast_in_dim", "reshape"))
_MOST = 1000


@dataclass(frozen=True)
class StepMove(Move):
    """What decided where an axis lies, as a step of the program."""

    step: Step = field(kw_only=True)


def moves_of(
    analysis: AxisAnalysis, dimension: Dimension, other: str, beside: Dimension
) -> Iterator[StepMove]:
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
                yield StepMove(step.place, weight_of(step), entered=True, step=step)
        elif (step := at[0].producer) is not None and _moves(analysis, at, before, other):
            if step.place is None:
                return
            results = step.detail.results if step.kind == "map" else ()
            elsewhere = any(out is at[0] and _is_elsewhere(step, axis) for out, _, axis in results)
            # What lacks axes is aligned where they meet, unless it is a statistic of the other.
            is_statistic = dimension.value.dtype != bool and _is_made_from(analysis, step, beside)
            widens = step.primitive in _MOVES and len(at[0].shape) > len(before[0].shape)
            yield StepMove(
                step.place,
                weight_of(step),
                elsewhere=elsewhere,
                widens=widens,
                needless=widens and fits(analysis, Dimension(*before), beside),
                lacks=repeated and not is_statistic,
                step=step,
            )
        repeated = repeated or (
            len(at[0].shape) > len(before[0].shape) and _is_implied(at[0].producer)
        )
        at = before


def weight_of(step: Step) -> int:
    """How much a step that moved an axis is to blame."""
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
    known = {it for source in of_call(step) for it in analysis.names(source)}
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


def _is_made_from(analysis: AxisAnalysis, step: Step, other: Dimension) -> bool:
    at, known = (other.value, other.index), of_call(step)
    while at in analysis.came_from and at[0] not in known and _is_implied(at[0].producer):
        at = analysis.came_from[at]
    return at[0] in known


def fits(
    analysis: AxisAnalysis, own: Dimension, beside: Dimension, without: str | None = None
) -> bool:
    """Whether an array as it was written lines up with another, by the names of their axes."""
    value = _as_written(analysis, own)
    names = [it for it in analysis.names(value) if it is None or it != without]
    pairs = zip(reversed(names), reversed(analysis.names(beside.value)), strict=False)
    return all(one == other or None in (one, other) for one, other in pairs)


def _as_written(analysis: AxisAnalysis, dimension: Dimension) -> Value:
    """The array before broadcasting."""
    return next(
        value for value, _ in way_of(analysis, dimension) if not _is_implied(value.producer)
    )


def way_of(analysis: AxisAnalysis, dimension: Dimension) -> Iterator[tuple[Value, int]]:
    """The dimensions that one continues, itself first."""
    at = (dimension.value, dimension.index)
    for _ in range(_MOST):
        yield at
        if at not in analysis.came_from:
            return
        at = analysis.came_from[at]


def of_call(step: Step) -> list[Value]:
    """What the call works on that a step is a part of, and all that it makes up to there."""
    found = list(step.outputs)
    for value in found:
        made_by = value.producer
        is_part = made_by is step or (made_by is not None and made_by.call_site == step.call_site)
        if made_by is not None and is_part and len(found) < _MOST:
            found.extend(it for it in made_by.inputs if it not in found)
    return found
