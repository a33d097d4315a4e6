"""The parts of a value: each array with its type, and anything else as text."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import jax
import numpy as np

from .calls import is_array, written
from .observations import Leaf, Range


def leaves_of(name: str, value: Any, *, is_traced: bool = False) -> Iterator[Leaf]:
    """The parts of an argument, each with its path.

    With `is_traced`, it is given to a transformation, which makes arrays of numbers.
    """
    for path, part in jax.tree_util.tree_flatten_with_path(value)[0]:
        yield _leaf(name + jax.tree_util.keystr(path), part, is_traced)


def _leaf(name: str, value: Any, is_traced: bool) -> Leaf:
    is_type = isinstance(value, jax.ShapeDtypeStruct)
    is_number = is_traced and isinstance(value, (bool, int, float, complex))
    if not (is_type or is_number or is_array(value)):
        return Leaf(name, value=written(value))
    aval: Any = value if is_type else jax.typeof(value)
    is_key = bool(jax.numpy.issubdtype(aval.dtype, jax.dtypes.prng_key))
    weak = bool(getattr(aval, "weak_type", False))
    return Leaf(name, str(aval.dtype), tuple(map(int, aval.shape)), weak, is_key)


def ranges_of(name: str, value: Any) -> dict[str, Range]:
    """The smallest and largest values of those arrays in an argument that hold finite numbers."""
    found: dict[str, Range] = {}
    for path, part in jax.tree_util.tree_flatten_with_path(value)[0]:
        with suppress(TypeError, ValueError):  # they have no order
            bounds = _range(part)
            if bounds is not None:
                found[name + jax.tree_util.keystr(path)] = bounds
    return found


def _range(part: Any) -> Range | None:
    if not isinstance(part, (np.ndarray, np.generic, bool, int, float)):
        return None
    values = np.asarray(part)
    if not values.size or values.dtype.kind == "c":
        return None
    is_exact = values.dtype.kind in "iub"
    number = int if is_exact else float
    low, high = number(values.min()), number(values.max())
    return Range(low, high) if is_exact or math.isfinite(low + high) else None
