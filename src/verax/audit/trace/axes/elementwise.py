"""Axes through primitives that work element by element: each dimension meets its like."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Step, Value
from .analysis import AxisAnalysis, Outer
from .axis import Axes, Axis


def elementwise(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """All operands have the shape of the result, ones in place of some sizes, or no shape."""
    del operands
    made = step.outputs[0]
    values = [value for value in step.inputs if len(value.shape) == len(made.shape)]
    axes = tuple(
        _meet(analysis, step, values, index, size) for index, size in enumerate(made.shape)
    )
    _note_outer(analysis, step, values)
    return [axes] * len(step.outputs)


def _meet(
    analysis: AxisAnalysis, step: Step, values: Sequence[Value], index: int, size: int
) -> Axis:
    full = [value for value in values if value.shape[index] == size]
    made = step.outputs[0]
    if not full:
        return Axis()
    best = max(full, key=lambda value: bool(analysis.of(value)[index].label))
    analysis.follow(made, index, best, index)
    if size == 1:
        # Dimensions of size one stretch; they do not say that two axes are the same.
        return analysis.of(best)[index]
    axis = analysis.of(full[0])[index]
    for value in full[1:]:
        axis = analysis.join(step, "elementwise", (full[0], index), (value, index))
        if axis.lost:
            return axis
    return axis.root()


def _note_outer(analysis: AxisAnalysis, step: Step, values: Sequence[Value]) -> None:
    """Remember where each of two operands is stretched along an axis of the other."""
    if len(values) < 2:
        return
    for position, first in enumerate(values):
        for second in values[position + 1 :]:
            mine = _only_in(first, second)
            theirs = _only_in(second, first)
            if mine and theirs:
                i, j = _alike(first, mine, second, theirs)
                analysis.outers.append(
                    Outer(
                        step,
                        first,
                        i,
                        second,
                        j,
                        analysis.of(first)[j].root().unit,
                        analysis.of(second)[i].root().unit,
                    )
                )


def _alike(
    first: Value, mine: Sequence[int], second: Value, theirs: Sequence[int]
) -> tuple[int, int]:
    """Two dimensions of one size, neighbours if there are some; otherwise the first of each."""
    pairs = [(i, j) for i in mine for j in theirs if first.shape[i] == second.shape[j]]
    return min(pairs, key=lambda it: abs(it[0] - it[1]), default=(mine[0], theirs[0]))


def _only_in(one: Value, other: Value) -> list[int]:
    pairs = zip(one.shape, other.shape, strict=True)
    return [index for index, (m, n) in enumerate(pairs) if m > 1 and n == 1]


def same(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Each result has the shape of the operand in its place (`psum`, `sort`, …)."""
    outs: list[Axes] = []
    for made, source, axes in zip(step.outputs, step.inputs, operands, strict=False):
        if len(made.shape) != len(source.shape):
            return [tuple(Axis() for _ in value.shape) for value in step.outputs]
        for index in range(len(made.shape)):
            analysis.follow(made, index, source, index)
        outs.append(axes)
    return outs


def together(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """All operands have one shape and move together (`sort` with several operands)."""
    first = step.inputs[0]
    for other in step.inputs[1:]:
        if other.shape == first.shape:
            for index, size in enumerate(first.shape):
                if size > 1:
                    analysis.join(step, "elementwise", (first, index), (other, index))
    return same(analysis, step, operands)


def first_only(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """The results have the shape of the first operand (`clamp`, `cumsum`, `rev`, `pad`, …)."""
    for made in step.outputs:
        for index in range(len(made.shape)):
            analysis.follow(made, index, step.inputs[0], index)
    return [operands[0]] * len(step.outputs)


def select(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """`select_n`: the choice may be one for all elements."""
    return elementwise(analysis, step, operands)
