"""Reading and writing entries of every array in a tree, by one index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypedDict, TypeVar, cast, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ._tree_map import tree_map

T = TypeVar("T")


class ScatterArgs(TypedDict, total=False):
    """Options of `array.at[index].set(...)` and `.get(...)`, all of them optional.

    Example:
        >>> options: ScatterArgs = {"mode": "drop", "unique_indices": True}
        >>> tree_scatter_set({"a": jnp.zeros(2)}, {"a": jnp.ones(2)}, jnp.array([1, 5]), options)
        {'a': Array([0., 1.], dtype=float32)}
    """

    mode: str | jax.lax.GatherScatterMode | None
    """What happens out of bounds: "drop", "fill", "clip", "promise_in_bounds", "wrap"."""
    indices_are_sorted: bool
    unique_indices: bool
    wrap_negative_indices: bool
    fill_value: Any
    """What reading gives out of bounds, with the mode "fill". Writing has no use for it."""


@runtime_checkable
class HasScatterArgs(Protocol):
    """A node of a tree that knows how its arrays are to be written.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class Padded:
        ...     data: jax.Array
        ...     @property
        ...     def scatter_args(self) -> ScatterArgs:
        ...         return {"mode": "drop"}
        >>> isinstance(Padded(jnp.zeros(2)), HasScatterArgs)
        True
    """

    @property
    def scatter_args(self) -> ScatterArgs:
        """Options that hold for every array below this node."""
        ...


def tree_scatter_set(item: T, value: T, idxs: Any, args: ScatterArgs | None = None) -> T:
    """Write `value` at an index into every array of a tree: `array.at[idxs].set(...)`.

    A node with `scatter_args` (see `HasScatterArgs`) adds them to `args` for the arrays below it;
    where both name an option, the node's counts. Nodes that align themselves (see
    `SupportsTreeMatch`) do so.

    Example:
        >>> tree = {"x": jnp.zeros(3), "y": jnp.zeros((3, 2))}
        >>> rows = {"x": jnp.ones(1), "y": jnp.ones((1, 2))}
        >>> tree_scatter_set(tree, rows, jnp.array([2]), {})["x"]
        Array([0., 0., 1.], dtype=float32)

    Args:
        item: the tree to update.
        value: the new entries, in a tree of the same structure.
        idxs: whatever may stand in the brackets of `array.at[...]`; and, where one new entry
            goes to all places, a mask that is only known when the program runs.
        args: options for every array.
    """
    return _scatter(item, value, as_index(idxs), args or {}, inside=False)


def _scatter(item: Any, value: Any, index: Any, args: ScatterArgs, *, inside: bool) -> Any:
    def is_leaf(node: object) -> bool:
        return _has_scatter_args(node) and not (inside and node is item)

    def write(old: Any, new: Any) -> Any:
        if is_leaf(old):
            merged: Any = {**args, **old.scatter_args}
            return _scatter(old, new, index, merged, inside=True)
        options: dict[str, Any] = {**args}
        options.pop("fill_value", None)
        if _is_traced_mask(index) and np.ndim(new) <= np.ndim(old) - index.ndim:
            # JAX must know how many entries a mask chooses. One new entry for all of them is the
            # case where the number does not matter.
            chosen = jnp.expand_dims(index, tuple(range(index.ndim, np.ndim(old))))
            return jnp.where(chosen, jnp.asarray(old).at[...].set(new), old)
        return jnp.asarray(old).at[index].set(new, **options)

    return tree_map(write, item, value, is_leaf=is_leaf)


def tree_gather(item: T, index: Any, args: ScatterArgs) -> T:
    """Read an index from every array of a tree: `array.at[index].get(...)`."""
    options: dict[str, Any] = dict(args)
    return jax.tree.map(lambda array: jnp.asarray(array).at[index].get(**options), item)


def as_index(index: Any) -> Any:
    """An index as JAX takes it: lists of integers or booleans become arrays."""
    if isinstance(index, tuple):
        return tuple(map(as_index, cast("tuple[Any, ...]", index)))
    if not isinstance(index, Sequence):
        return index
    # NumPy's stay known while JAX traces, as the mask [True, False] must be.
    traced = any(isinstance(part, Tracer) for part in jax.tree.leaves(index))
    return jnp.asarray(index) if traced else np.asarray(index)


def _is_traced_mask(index: Any) -> bool:
    return isinstance(index, Tracer) and index.dtype == bool


def _has_scatter_args(node: object) -> bool:
    return hasattr(node, "scatter_args")  # isinstance with a protocol says the same, slowly
