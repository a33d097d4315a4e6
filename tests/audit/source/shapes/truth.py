"""What JAX says of the shapes of an operation, and whether ours agree."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from hypothesis import strategies as st

from verax.audit.source.shapes.dims import Dim
from verax.audit.source.shapes.shape import Mismatch, Partial, Shape
from verax.audit.source.shapes.substitution import substitute_shape

FAILS = object()

shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
# Sizes that are often equal, so that operations often succeed.
alike = st.lists(st.sampled_from([1, 2, 3]), max_size=3).map(tuple)
axis = st.integers(-4, 4)


def array(shape: tuple[int, ...], dtype: Any = np.float32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def of_jax(function: Callable[..., Any], *args: Any) -> Any:
    """The shapes JAX finds, or FAILS."""
    try:
        # Axes of different rank broadcast in programs, if not in our own suite.
        with jax.numpy_rank_promotion("allow"):
            result = jax.eval_shape(function, *args)
    except (TypeError, ValueError, IndexError, ZeroDivisionError, AssertionError):
        return FAILS
    return jax.tree.map(lambda leaf: leaf.shape, result)


def of_ours(function: Callable[..., Any], *args: Any) -> Any:
    """The shapes we find, or FAILS."""
    try:
        return function(*args)
    except Mismatch:
        return FAILS


def fits(shape: Shape, real: tuple[int, ...], numbers: dict[str, Dim] | None = None) -> bool:
    """Whether a real shape is one of those that ours stands for."""
    shape = substitute_shape(shape, numbers or {})
    if shape is None:
        return True
    if isinstance(shape, Partial):
        if len(real) < len(shape.lead) + len(shape.trail):
            return False
        tail = real[len(real) - len(shape.trail) :]
        return _equal(shape.lead, real[: len(shape.lead)]) and _equal(shape.trail, tail)
    return len(shape) == len(real) and _equal(shape, real)


def _equal(dims: tuple[Dim, ...], real: tuple[int, ...]) -> bool:
    return all(dim is None or dim == size for dim, size in zip(dims, real, strict=True))
