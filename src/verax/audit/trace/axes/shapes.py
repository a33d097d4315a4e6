"""Axes through primitives that rearrange dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import prod
from typing import TypeGuard

from ..program import Step, Value
from .analysis import AxisAnalysis, Reshuffle
from .axis import Axes, Axis, piece


def transpose(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Axes change places."""
    order = step.params["permutation"]
    return [_picked(analysis, step, operands[0], order)]


def squeeze(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Axes of size one go."""
    dropped = set(step.params["dimensions"])
    kept = [index for index in range(len(operands[0])) if index not in dropped]
    return [_picked(analysis, step, operands[0], kept)]


def reduce(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Reductions, `argmax` and their like: some axes go, the others stay."""
    dropped = set(step.params["axes"] if "axes" in step.params else step.params["dimensions"])
    kept = [index for index in range(len(operands[0])) if index not in dropped]
    return [_picked(analysis, step, operands[0], kept) for _ in step.outputs]


def pool(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Windows keep the axes that they slide along; one over all of an axis is a reduction."""
    made, source = step.outputs[0], step.inputs[0]
    axes: list[Axis] = []
    for index, (n, m) in enumerate(zip(made.shape, source.shape, strict=True)):
        analysis.follow(made, index, source, index)
        axes.append(Axis(unit="reduced") if n == 1 != m else operands[0][index])
    return [tuple(axes) for _ in step.outputs]


def _picked(analysis: AxisAnalysis, step: Step, axes: Axes, order: Sequence[int]) -> Axes:
    for made in step.outputs:
        for index, source in enumerate(order):
            analysis.follow(made, index, step.inputs[0], source)
    return tuple(axes[index] for index in order)


def broadcast_in_dim(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Axes keep their meaning at new positions; new ones have none."""
    made, source = step.outputs[0], step.inputs[0]
    targets = step.params["broadcast_dimensions"]
    # `keepdims` is a reduction and an expansion, made by one call.
    reduced = _is_reduction(source.producer) and source.producer.call_site == step.call_site
    unit = "reduced" if reduced else "expanded"
    axes: list[Axis] = []
    for index, size in enumerate(made.shape):
        if index in targets:
            position = targets.index(index)
            if source.shape[position] == size:
                analysis.follow(made, index, source, position)
                axes.append(operands[0][position])
                continue
        axes.append(Axis(unit=unit) if size == 1 else Axis(repeated=True))
    return [tuple(axes)]


def _is_reduction(step: Step | None) -> TypeGuard[Step]:
    return step is not None and (
        step.primitive.startswith("reduce_") or step.primitive in ("argmax", "argmin")
    )


def reshape(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Splits and merges axes. What is neither is a `Reshuffle`, and its axes are unknown."""
    made, source = step.outputs[0], step.inputs[0]
    if step.params.get("dimensions") is not None:
        return [tuple(Axis() for _ in made.shape)]
    # A merged axis is taken apart again before the sizes are compared.
    before = [
        (factor, n, index)
        for index, (axis, size) in enumerate(zip(operands[0], source.shape, strict=True))
        for factor, n in _factors(axis, size)
    ]
    before = [it for it in before if it[1] != 1]
    after = [(index, size) for index, size in enumerate(made.shape) if size != 1]
    axes: list[Axis] = [Axis(unit="expanded") for _ in made.shape]
    for olds, news in _groups(before, after):
        for index, axis in _regrouped(analysis, step, olds, news):
            axes[index] = axis
            if len(olds) >= 1:
                analysis.follow(made, index, source, olds[0][2])
    _keep_named_units(source, operands[0], made, axes)
    return [tuple(axes)]


def _factors(axis: Axis, size: int) -> list[tuple[Axis, int]]:
    root = axis.root()
    if root.factors and prod(n for _, n in root.factors) == size:
        return list(root.factors)
    return [(axis, size)]


Old = tuple[Axis, int, int]
New = tuple[int, int]


def _groups(before: list[Old], after: list[New]) -> list[tuple[list[Old], list[New]]]:
    """The shortest runs of old and new dimensions that hold equally many elements."""
    groups: list[tuple[list[Old], list[New]]] = []
    i = j = 0
    while i < len(before) and j < len(after):
        olds, news = [before[i]], [after[j]]
        i, j = i + 1, j + 1
        while (m := prod(it[1] for it in olds)) != (n := prod(it[1] for it in news)):
            if m < n and i < len(before):
                olds.append(before[i])
                i += 1
            elif n < m and j < len(after):
                news.append(after[j])
                j += 1
            else:
                return groups
        groups.append((olds, news))
    return groups


def _regrouped(
    analysis: AxisAnalysis, step: Step, olds: list[Old], news: list[New]
) -> list[tuple[int, Axis]]:
    """The axes of new dimensions that hold the same elements as some old ones."""
    if len(news) == 1:
        return [(news[0][0], _merged(olds))]
    if len(olds) == 1:
        return _split(olds[0], news)
    sizes, wanted = [size for _, size, _ in olds], [size for _, size in news]
    if _rearranges(sizes, wanted) or _rearranges(wanted, sizes):
        analysis.reshuffles.append(
            Reshuffle(step, tuple(it[0] for it in olds), tuple(sizes), tuple(wanted))
        )
    return [(index, Axis(lost=True)) for index, _ in news]


def _rearranges(sizes: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether each dimension is there in whole, in one piece or several, in another order."""
    if not sizes:
        return not wanted
    first, rest = sizes[0], sizes[1:]
    for count in range(1, len(wanted) - len(rest) + 1):
        for chosen in combinations(range(len(wanted)), count):
            if prod(wanted[index] for index in chosen) == first:
                left = [size for index, size in enumerate(wanted) if index not in chosen]
                if _rearranges(rest, left):
                    return True
    return False


def _merged(olds: list[Old]) -> Axis:
    if len(olds) == 1:
        return olds[0][0]
    first = olds[0][0].root()
    whole = first.whole
    parts = [axis.root() for axis, _, _ in olds]
    if whole is not None and all(
        part.whole is whole and part.part == (k, len(parts)) for k, part in enumerate(parts)
    ):
        return whole
    return Axis(factors=tuple((axis, size) for axis, size, _ in olds))


def _split(old: Old, news: list[New]) -> list[tuple[int, Axis]]:
    whole = old[0].root()
    return [(index, Axis(whole=whole, part=(k, len(news)))) for k, (index, _) in enumerate(news)]


def _keep_named_units(source: Value, old: Axes, made: Value, new: list[Axis]) -> None:
    """A dimension of size one that stays where it was keeps its axis."""
    if source.shape == made.shape:
        new[:] = old
        return
    front = 0
    while front < min(len(source.shape), len(made.shape)) and (
        source.shape[front] == made.shape[front]
    ):
        if made.shape[front] == 1:
            new[front] = old[front]
        front += 1


def concatenate(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Dimensions beside the joined one meet."""
    along = step.params["dimension"]
    made, first = step.outputs[0], step.inputs[0]
    axes: list[Axis] = []
    for index, size in enumerate(made.shape):
        axis = operands[0][index]
        if index == along:
            axis = _appended(step, operands, along)
        elif size > 1:
            for other in step.inputs[1:]:
                axis = analysis.join(step, "concatenation", (first, index), (other, index))
        analysis.follow(made, index, first, index)
        axes.append(axis)
    return [tuple(axes)]


def _appended(step: Step, operands: Sequence[Axes], along: int) -> Axis:
    """What pieces of one axis make is that axis; pieces of several make a new one.

    More steps are steps; a position with a speed beside it is no position.
    """
    found = {
        axes[along].root()
        for value, axes in zip(step.inputs, operands, strict=True)
        if value.shape[along] > 1
    }
    if len(found) != 1:
        return Axis()
    return found.pop() if len(step.inputs) == 1 else piece(found.pop())


def split(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Pieces of an axis are still that axis, unless they are other things of one element."""
    for made in step.outputs:
        for index in range(len(made.shape)):
            analysis.follow(made, index, step.inputs[0], index)
    axes = list(operands[0])
    if len(step.outputs) > 1:
        along = step.params["axis"]
        axes[along] = piece(axes[along])
    return [tuple(axes) for _ in step.outputs]


def expand_dims(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """New axes of size one."""
    added = set(step.params["dimensions"])
    rest = iter(range(len(operands[0])))
    made = step.outputs[0]
    axes: list[Axis] = []
    for index in range(len(made.shape)):
        if index in added:
            axes.append(Axis(unit="expanded"))
        else:
            source = next(rest)
            analysis.follow(made, index, step.inputs[0], source)
            axes.append(operands[0][source])
    return [tuple(axes)]


def stack(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Like values side by side, along a new axis."""
    at, first = step.params["axis"], step.inputs[0]
    axes: list[Axis] = []
    for index, size in enumerate(first.shape):
        axis = operands[0][index]
        if size > 1:
            for other in step.inputs[1:]:
                axis = analysis.join(step, "concatenation", (first, index), (other, index))
        analysis.follow(step.outputs[0], index + (index >= at), first, index)
        axes.append(axis)
    axes.insert(at, Axis())
    return [tuple(axes)]


def unstack(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Each element along an axis by itself."""
    at = step.params["axis"]
    kept = [index for index in range(len(operands[0])) if index != at]
    return [_picked(analysis, step, operands[0], kept) for _ in step.outputs]


def tile(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Axes that are repeated are there again and again, each time in whole."""
    repeats = step.params["reps"]
    for index, count in enumerate(repeats):
        if count == 1:
            analysis.follow(step.outputs[0], index, step.inputs[0], index)
    sizes = step.inputs[0].shape
    return [tuple(map(_tiled, operands[0], sizes, repeats))]


def _tiled(axis: Axis, size: int, count: int) -> Axis:
    again = Axis(repeated=True)
    if count == 1 or size == 1:
        return axis if count == 1 else again
    return Axis(factors=((again, count), (axis, size)))
