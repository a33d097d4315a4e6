"""Axes that several arrays have merged, and one of them in another order than the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..program import Step
from .analysis import AxisAnalysis
from .axis import Axis, Clash, Dimension
from .moves import way_of

# What a merged axis is made of, outermost first: names, as far as they are known, and sizes.
Order = tuple[tuple[str, int], ...]


class _Merge(NamedTuple):
    order: Order
    step: Step


def merged_by(analysis: AxisAnalysis, clash: Clash) -> Step | None:
    """The step that merged two axes the other way round than most arrays have them merged.

    That is where to transpose first: the places where such arrays meet are as many as their uses.
    """
    one, other = (_merge_of(analysis, it) for it in (clash.first, clash.second))
    if one is None or other is None or not _are_alike(one.order, other.order[::-1]):
        return None
    if _are_alike(one.order, other.order):
        return None
    known = list(_merges(analysis))
    counts = [sum(_are_alike(it.order, that.order) for it in known) for that in (one, other)]
    if counts[0] == counts[1]:
        return None
    return one.step if counts[0] < counts[1] else other.step


def _merge_of(analysis: AxisAnalysis, dimension: Dimension) -> _Merge | None:
    """The step that merged the axes of a dimension, and their order."""
    found = None
    for value, index in way_of(analysis, dimension):
        axis, step = analysis.of(value)[index].root(), value.producer
        if not axis.factors or step is None:
            break
        found = _Merge(_order(axis), step)
    return found


def _merges(analysis: AxisAnalysis) -> Iterator[_Merge]:
    """Everything that the program merges."""
    for step in analysis.program.walk():
        if step.primitive != "reshape" or step.kind != "operation":
            continue
        before = analysis[step.inputs[0]]
        for axis in analysis[step.outputs[0]]:
            if axis.factors and axis not in before:
                yield _Merge(_order(axis), step)


def _order(axis: Axis) -> Order:
    return tuple((it.label, size) for it, size in axis.factors)


def _are_alike(one: Order, other: Order) -> bool:
    """Whether two orders are the same, as far as names are known."""
    return len(one) == len(other) and all(
        m == n and (a == b or not (a and b)) for (a, m), (b, n) in zip(one, other, strict=True)
    )
