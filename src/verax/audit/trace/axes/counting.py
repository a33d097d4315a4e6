"""Indices that count the elements of an axis: `x[jnp.arange(batch), t]`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ..program import Step, Value
from .axis import Clash, Dimension

if TYPE_CHECKING:
    from .analysis import AxisAnalysis

_ADD_ONES = frozenset("reshape squeeze expand_dims".split())
_MOST = 32


@dataclass(frozen=True, eq=False)
class Counting:
    """A gather or scatter, and by which dimension of the indices one of the array is counted.

    `counted` leads from dimensions of the array to those of the indices, along which the index is
    0, 1, 2 … .
    """

    step: Step
    array: Value
    indices: Value
    counted: dict[int, int]


def counting(step: Step, array: Value, indices: Value, dimensions: Sequence[int]) -> Counting:
    """What is counted where an index has a part for each of these dimensions of an array."""
    parts = _parts(indices, len(dimensions))
    pairs = ((at, _counts(part)) for at, part in zip(dimensions, parts, strict=False))
    return Counting(step, array, indices, {at: by for at, by in pairs if by is not None})


def _parts(indices: Value, count: int) -> list[Value]:
    """The indices into one dimension each, as `x[i, j]` puts them side by side."""
    joined = indices.producer
    if count == 1 or joined is None or joined.primitive != "concatenate":
        return [indices] if count == 1 else []
    along = joined.params["dimension"] == len(indices.shape) - 1
    parts = list(joined.inputs)
    return parts if along and len(parts) == count else []


def _counts(part: Value) -> int | None:
    """The dimension along which an index is 0, 1, 2 …, and the same everywhere else."""
    found = [at for at, size in enumerate(part.shape) if size > 1 and _is_range(part, at)]
    return found[0] if len(found) == 1 else None


def _is_range(value: Value, at: int) -> bool:
    for _ in range(_MOST):
        step = value.producer
        if step is None or step.kind != "operation":
            return False
        if step.primitive == "iota":
            return step.params["dimension"] == at
        before = _before(step, value, at)
        if before is None:
            return False
        value, at = before
    return False


def _before(step: Step, value: Value, at: int) -> tuple[Value, int] | None:
    """The same numbers along the same dimension, before they were cast or given other axes."""
    source = step.inputs[0] if step.inputs else value
    if step.primitive == "convert_element_type":
        return source, at
    if step.primitive == "select_n" and len(step.inputs) == 3:
        return step.inputs[1], at  # The other case is for negative indices.
    if step.primitive == "broadcast_in_dim":
        targets = step.params["broadcast_dimensions"]
        position = targets.index(at) if at in targets else None
        is_kept = position is not None and source.shape[position] == value.shape[at]
        return (source, position) if position is not None and is_kept else None
    if step.primitive not in _ADD_ONES:
        return None
    old = [index for index, size in enumerate(source.shape) if size != 1]
    new = [index for index, size in enumerate(value.shape) if size != 1]
    sizes = ([it.shape[index] for index in dims] for it, dims in ((source, old), (value, new)))
    is_same = prod(source.shape) == prod(value.shape) and len({tuple(it) for it in sizes}) == 1
    return (source, old[new.index(at)]) if is_same and at in new else None


def miscounted(analysis: AxisAnalysis) -> Iterator[Clash]:
    """Dimensions that are indexed by the count of another one, which the array has as well.

    `alphas[jnp.arange(batch), last]` of alphas with (time, batch). Where the other one is counted
    too, pairs of equal numbers are meant: the diagonal.
    """
    for it in analysis.countings:
        names = analysis.names(it.array)
        for at, by in it.counted.items():
            name = analysis.names(it.indices)[by]
            own = [index for index, other in enumerate(names) if other == name and index != at]
            if name is None or names[at] in (None, name) or not own:
                continue
            if not any(index in it.counted for index in own):
                first, second = Dimension(it.array, at), Dimension(it.indices, by)
                yield Clash(it.step, "indexed", first, second, names[at] or "", name)
