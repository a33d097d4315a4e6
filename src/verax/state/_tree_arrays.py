"""Array functions for all leaves of trees at once."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from ._tree_map import tree_map

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def tree_concat(*trees: T) -> T:
    """Join trees leaf by leaf, along the first axis.

    Nodes that align themselves (see `SupportsTreeMatch`) do so.

    Example:
        >>> tree_concat({"x": jnp.zeros(1)}, {"x": jnp.ones(2)})
        {'x': Array([0., 1., 1.], dtype=float32)}

    Raises:
        ValueError: if no tree is given, or if structures or shapes do not fit together.
    """
    return _combine("tree_concat", jnp.concatenate, _cannot_concatenate, trees)


def tree_stack(*trees: T) -> T:
    """Stack trees leaf by leaf, along a new first axis.

    Nodes that align themselves (see `SupportsTreeMatch`) do so.

    Example:
        >>> tree_stack({"x": jnp.float32(1)}, {"x": jnp.float32(2)})
        {'x': Array([1., 2.], dtype=float32)}

    Raises:
        ValueError: if no tree is given, or if structures or shapes do not fit together.
    """
    return _combine("tree_stack", jnp.stack, _cannot_stack, trees)


def tree_zeros_like(tree: T) -> T:
    """A tree of the same structure, shapes and types, full of zeros.

    Example:
        >>> tree_zeros_like({"x": jnp.ones(2), "n": jnp.array(3)})
        {'n': Array(0, dtype=int32, weak_type=True), 'x': Array([0., 0.], dtype=float32)}
    """
    return jax.tree.map(jnp.zeros_like, tree)


def tree_where_broadcast_last(accept: jax.Array, tree1: T, tree2: T) -> T:
    """Choose between two trees, entry by entry of the leading axes.

    `accept` has the shape of the leading axes that all leaves share; one decision there holds for
    everything behind it. Nodes that align themselves (see `SupportsTreeMatch`) do so.

    Example:
        >>> old, new = {"x": jnp.zeros((2, 2))}, {"x": jnp.ones((2, 2))}
        >>> tree_where_broadcast_last(jnp.array([True, False]), new, old)["x"]
        Array([[1., 1.],
               [0., 0.]], dtype=float32)

    Args:
        accept: where it is true, `tree1` is taken.
        tree1: leaves taken where `accept` is true.
        tree2: leaves taken elsewhere; same structure.

    Raises:
        ValueError: if a leaf has fewer axes than `accept`.
    """
    accept = jnp.asarray(accept)
    number = count()

    def choose(one: Any, other: Any) -> jax.Array:
        index = next(number)
        ndim = max(np.ndim(one), np.ndim(other))
        if ndim < accept.ndim:
            raise ValueError(
                f"tree_where_broadcast_last: accept has shape {accept.shape}, but the leaf at "
                f"{_place(tree1, index)} has shape {np.shape(one)}. Every leaf needs the axes of "
                f"accept in front."
            )
        return jnp.where(jnp.expand_dims(accept, tuple(range(accept.ndim, ndim))), one, other)

    return tree_map(choose, tree1, tree2)


Shapes = list[tuple[int, ...]]


def _cannot_concatenate(shapes: Shapes) -> str | None:
    if any(not shape for shape in shapes):
        return "have no axis to be joined along. Use tree_stack, which makes one."
    if len({shape[1:] for shape in shapes}) > 1:
        return f"have the shapes {shapes}, which may differ in the first axis only."
    return None


def _cannot_stack(shapes: Shapes) -> str | None:
    return f"have the shapes {shapes}, which must be the same." if len(set(shapes)) > 1 else None


def _combine(
    name: str,
    combine: Callable[[Any], jax.Array],
    why_not: Callable[[Shapes], str | None],
    trees: tuple[T, ...],
) -> T:
    if not trees:
        raise ValueError(f"{name} needs at least one tree.")
    number = count()

    def at_leaf(*leaves: Any) -> jax.Array:
        index = next(number)
        problem = why_not([np.shape(leaf) for leaf in leaves])
        if problem is not None:
            raise ValueError(f"{name}: the leaves at {_place(trees[0], index)} {problem}")
        return combine(leaves)

    return tree_map(at_leaf, *trees)


def _place(tree: Any, index: int) -> str:
    """Where the leaf with this number stands."""
    path, _ = jax.tree_util.tree_leaves_with_path(tree)[index]
    return jax.tree_util.keystr(path) or "the root"
