"""Keys that are picked out of an array, also past its end."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..counters import last_of
from ..program import Step, Value
from .analysis import Keys
from .identity import LIMIT, WORDS, Clamped, is_typed, key_shape, words


def dynamic_slice(known: Keys, step: Step) -> None:
    """A part of an array of keys."""
    codes = known.array(step.inputs[0])
    if codes is None:
        return
    sizes = tuple(step.params["slice_sizes"])
    starts = [known.numbers.constant(value) for value in step.inputs[1:]]
    if any(start is None for start in starts):
        _pick(known, step, codes, step.inputs[1:])
        return
    limits = [size - cut for size, cut in zip(codes.shape, sizes, strict=True)]
    clipped = [
        min(max(int(start or 0), 0), limit) for start, limit in zip(starts, limits, strict=True)
    ]
    taken = codes[tuple(slice(a, a + n) for a, n in zip(clipped, sizes, strict=True))]
    known.arrays[step.outputs[0]] = taken
    if int(starts[0] or 0) > limits[0]:
        _note_clamped(known, step, int(starts[0] or 0), codes.shape[0], taken)


def gather(known: Keys, step: Step) -> None:
    """Keys at computed indices."""
    codes = known.array(step.inputs[0])
    if codes is None:
        return
    out, indices = step.outputs[0], step.inputs[1]
    numbers = step.params["dimension_numbers"]
    along_first = tuple(numbers.start_index_map) == (0,) == tuple(
        numbers.collapsed_slice_dims
    ) and not getattr(numbers, "operand_batching_dims", ())
    index = known.numbers.constant(indices)
    if along_first and index is not None and out.shape == codes.shape[1:]:
        last = codes.shape[0] - 1
        taken = codes[min(max(int(index), 0), last)]
        known.arrays[out] = taken
        if int(index) > last:
            _note_clamped(known, step, int(index), codes.shape[0], taken)
        return
    _pick(known, step, codes, [indices])


def _pick(known: Keys, step: Step, codes: np.ndarray, indices: Sequence[Value]) -> None:
    """Elements at indices that are not known: the same indices pick the same keys."""
    out = step.outputs[0]
    shape = key_shape(out)
    if shape is None or np.prod(shape, dtype=int) > LIMIT:
        return
    numbers = tuple(known.numbers.identity(value) for value in indices)
    typed = is_typed(out)
    parents = tuple(
        known.made[int(code)] for code in dict.fromkeys((codes if typed else codes // WORDS).flat)
    )
    picked = np.empty(shape, np.int64)
    for position in np.ndindex(*shape):
        key = known.key(
            (parents, numbers, position, shape),
            "picked",
            parents=parents,
            index=(numbers, tuple(indices)),
            step=step,
        )
        picked[position] = key.number
    known.arrays[out] = picked if typed else words(picked, out.shape[-1])
    last, count = last_of(indices[0]), codes.shape[0]
    if last is not None and last >= count:
        known.clamped.append(Clamped(step, last, count, parents))


def _note_clamped(known: Keys, step: Step, index: int, count: int, taken: np.ndarray) -> None:
    codes = taken if is_typed(step.outputs[0]) else taken // WORDS
    keys = tuple(known.made[int(code)] for code in dict.fromkeys(codes.flat))
    known.clamped.append(Clamped(step, index, count, keys))
