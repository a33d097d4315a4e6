"""Axes through slices, gathers, scatters and updates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..program import Step
from .analysis import AxisAnalysis
from .axis import Axes, Axis, piece
from .counting import counting


def part(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """A slice keeps its axes; a single element of an axis is no axis any more."""
    made, source = step.outputs[0], step.inputs[0]
    axes: list[Axis] = []
    for index, (n, m) in enumerate(zip(made.shape, source.shape, strict=True)):
        analysis.follow(made, index, source, index)
        axis = operands[0][index]
        if n == 1 and m != 1:
            axis = Axis(unit="indexed")
        elif 0 < n < m and m % n == 0:  # A half or a third, not all but the first.
            axis = piece(axis)
        axes.append(axis)
    return [tuple(axes)]


def update(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """`dynamic_update_slice`: the update has the axes of what it is written into."""
    whole, piece = step.inputs[:2]
    for index, (m, n) in enumerate(zip(whole.shape, piece.shape, strict=True)):
        if m == n != 1:
            analysis.join(step, "update", (whole, index), (piece, index))
        analysis.follow(step.outputs[0], index, whole, index)
    return [operands[0]]


def gather(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Dimensions of the result come from the operand's windows or from the indices."""
    numbers = step.params["dimension_numbers"]
    sizes = step.params["slice_sizes"]
    source, indices = step.inputs[:2]
    made = step.outputs[0]
    batching = _batching(numbers)
    analysis.countings.append(counting(step, source, indices, numbers.start_index_map))
    gone = {*numbers.collapsed_slice_dims, *(operand for operand, _ in batching)}
    windows = [index for index in range(len(source.shape)) if index not in gone]
    from_window = dict(zip(numbers.offset_dims, windows, strict=True))
    lookups = iter(range(len(indices.shape) - 1))
    axes: list[Axis] = []
    for index in range(len(made.shape)):
        if index in from_window:
            origin = from_window[index]
            whole = sizes[origin] == source.shape[origin] or sizes[origin] > 1
            analysis.follow(made, index, source, origin)
            axes.append(operands[0][origin] if whole else Axis(unit="indexed"))
            continue
        position = next(lookups)
        analysis.follow(made, index, indices, position)
        axis = operands[1][position]
        if batching and indices.shape[position] == 1:
            axis = Axis(unit="indexed")  # `take_along_axis` asks for it: nobody meant a column.
        for in_operand, in_indices in batching:
            if in_indices == position and indices.shape[position] > 1:
                axis = analysis.join(step, "elementwise", (source, in_operand), (indices, position))
        axes.append(axis)
    return [tuple(axes)]


def _batching(numbers: Any) -> list[tuple[int, int]]:
    return list(
        zip(
            getattr(numbers, "operand_batching_dims", ()),
            getattr(numbers, "start_indices_batching_dims", ()),
            strict=True,
        )
    )


def scatter(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """The result is the operand; windows of the updates meet its dimensions."""
    numbers = step.params["dimension_numbers"]
    whole, indices, updates = step.inputs[:3]
    counted = counting(step, whole, indices, numbers.scatter_dims_to_operand_dims)
    analysis.countings.append(counted)
    gone = {*numbers.inserted_window_dims, *getattr(numbers, "operand_batching_dims", ())}
    windows = [index for index in range(len(whole.shape)) if index not in gone]
    for in_update, in_whole in zip(numbers.update_window_dims, windows, strict=True):
        if updates.shape[in_update] == whole.shape[in_whole] != 1:
            analysis.join(step, "update", (whole, in_whole), (updates, in_update))
    lookups = [
        index for index in range(len(updates.shape)) if index not in numbers.update_window_dims
    ]
    for position, index in enumerate(lookups):
        if position < len(indices.shape) - 1 and (
            updates.shape[index] == indices.shape[position] != 1
        ):
            analysis.join(step, "update", (updates, index), (indices, position))
    for index in range(len(whole.shape)):
        analysis.follow(step.outputs[0], index, whole, index)
    return [operands[0]]


def top_k(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """The best of an axis are an axis of their own: positions mean something else."""
    along = step.params.get("axis", len(operands[0]) - 1) % len(operands[0])
    axes = tuple(Axis() if i == along else axis for i, axis in enumerate(operands[0]))
    for made in step.outputs:
        for index in range(len(made.shape)):
            if index != along:
                analysis.follow(made, index, step.inputs[0], index)
    return [axes for _ in step.outputs]
