"""Small arrays as 32-bit words of one array.

Each array that a compiled function returns costs time whenever it is called, and each operation
that writes one costs more. Numbers that leave together leave as words, written by one operation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# Arrays with more elements travel on their own.
_SMALL = 16
# Up to so many words are written by one operation, at a cost that grows with their square.
_TOGETHER = 64
# More than that are written in groups. Larger groups take XLA seconds to compile.
_GROUP = 16


@dataclass(frozen=True)
class Place:
    """Where one array lies: from a word on, or (`start` is `None`) on its own."""

    start: int | None
    shape: tuple[int, ...]
    dtype: Any

    @property
    def words(self) -> int:
        """How many words it takes."""
        return math.prod(self.shape) * max(1, self.dtype.itemsize // 4)


def places_of(arrays: Sequence[Any]) -> tuple[Place, ...]:
    """Where arrays of these shapes and dtypes go."""
    found: list[Place] = []
    end = 0
    for array in arrays:
        dtype = np.dtype(array.dtype)
        small = array.size <= _SMALL and not _is_narrower_than_a_byte(dtype)
        place = Place(end if small else None, array.shape, dtype)
        found.append(place)
        end += place.words if small else 0
    return tuple(found)


def pack(places: Sequence[Place], arrays: Sequence[Any]) -> tuple[jax.Array, list[Any]]:
    """The words of all small arrays, and the arrays that travel on their own."""
    words: list[Any] = []
    others: list[Any] = []
    for place, array in zip(places, arrays, strict=True):
        if place.start is None:
            others.append(array)
        else:
            words.extend(_to_words(array))
    return _side_by_side(words), others


def unpack(places: Sequence[Place], words: Any, others: Sequence[Any]) -> list[Any]:
    """The arrays again, from traced words or from NumPy's, with leading axes they may have got."""
    rest = iter(others)
    return [next(rest) if place.start is None else _from_words(words, place) for place in places]


def _side_by_side(words: Sequence[Any]) -> jax.Array:
    """Scalars as one array.

    Written as a concatenation, each word is an operation of its own. As a chain of selections,
    XLA computes and writes all of them in one loop.
    """
    groups: list[Any] = []
    size = len(words) if len(words) <= _TOGETHER else _GROUP
    for start in range(0, len(words), size or 1):
        group = words[start : start + size]
        # Not NumPy's: each constant mask would be an operand of the loop.
        positions = jax.lax.iota(jnp.uint32, len(group))
        written = jax.lax.broadcast(group[-1], (len(group),))
        for number, word in enumerate(group[:-1]):
            here = jax.lax.eq(positions, jax.lax.full_like(positions, number))
            written = jax.lax.select(here, jax.lax.broadcast(word, (len(group),)), written)
        groups.append(written)
    if not groups:
        return jnp.zeros(0, jnp.uint32)
    return groups[0] if len(groups) == 1 else jnp.concatenate(groups)


def _to_words(array: Any) -> list[Any]:
    if jnp.iscomplexobj(array):
        array = jnp.stack([array.real, array.imag], axis=-1)
    if array.dtype == bool:
        raw = jax.lax.convert_element_type(array, jnp.uint32)
    elif array.dtype.itemsize < 4:
        same_size = jax.lax.bitcast_convert_type(array, f"uint{8 * array.dtype.itemsize}")
        raw = jax.lax.convert_element_type(same_size, jnp.uint32)
    else:
        raw = jax.lax.bitcast_convert_type(array, jnp.uint32)
    flat = raw.reshape(-1)
    return [jax.lax.index_in_dim(flat, i, keepdims=False) for i in range(flat.size)]


def _from_words(words: Any, place: Place) -> Any:
    assert place.start is not None
    dtype, shape = place.dtype, words.shape[:-1] + place.shape
    raw = words[..., place.start : place.start + place.words]
    if dtype.kind == "b":
        return (raw != 0).reshape(shape)
    if dtype.kind == "c":
        half = Place(place.start, (*place.shape, 2), np.dtype(f"float{4 * dtype.itemsize}"))
        parts = _from_words(words, half)
        # Not by arithmetic, which knows neither negative zeros nor infinite parts.
        if isinstance(parts, np.ndarray):
            return np.ascontiguousarray(parts).view(dtype).reshape(shape)
        return jax.lax.complex(parts[..., 0], parts[..., 1])
    narrow = raw if dtype.itemsize >= 4 else raw.astype(f"uint{8 * dtype.itemsize}")
    if isinstance(narrow, np.ndarray):
        return np.ascontiguousarray(narrow).view(dtype).reshape(shape)
    pairs = narrow.reshape((*shape, 2)) if dtype.itemsize > 4 else narrow.reshape(shape)
    return jax.lax.bitcast_convert_type(pairs, dtype)


def _is_narrower_than_a_byte(dtype: np.dtype[Any]) -> bool:
    return jnp.issubdtype(dtype, jnp.integer) and jnp.iinfo(dtype).bits < 8
