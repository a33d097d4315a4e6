"""The lens on some entries of every array in a tree."""

from __future__ import annotations

from typing import Any, cast

import jax
import numpy as np

from ._lens import A, Lens
from ._scatter import ScatterArgs, as_index, tree_gather, tree_scatter_set


class IndexLens(Lens[A, A]):
    """Looks at the entries at `index` of every array in a tree; `Lens.at` makes it.

    It keeps the laws of a lens where the index is in bounds and names each entry once.

    Example:
        >>> import jax.numpy as jnp
        >>> rows = IndexLens(slice(1, None))
        >>> rows.set({"x": jnp.zeros(3)}, {"x": jnp.array([1.0, 2.0])})
        {'x': Array([0., 1., 2.], dtype=float32)}
    """

    __slots__ = ("args", "index")

    def __init__(self, index: Any, args: ScatterArgs | None = None) -> None:
        self.index: Any = as_index(index)
        self.args: ScatterArgs = args or {}

    def get(self, state: A) -> A:
        """Those entries, in a tree of the same structure."""
        return tree_gather(state, self.index, self.args)

    def set(self, state: A, value: A) -> A:
        """A new tree with those entries exchanged; see `tree_scatter_set`."""
        return tree_scatter_set(state, value, self.index, self.args)

    def __repr__(self) -> str:
        return f"IndexLens({self.index!r}, {self.args!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexLens):
            return NotImplemented
        mine, theirs = _split(self), _split(cast("IndexLens[Any]", other))
        return mine[1] == theirs[1] and all(map(np.array_equal, mine[0], theirs[0]))

    def __hash__(self) -> int:
        return hash(_split(self)[1])


# Arrays in an index are data: a jitted function must not compile again for each of them.
_ARRAY = "array"


def _split(lens: IndexLens[Any]) -> tuple[tuple[Any, ...], Any]:
    """The arrays in the index, and the rest in a form that can be hashed."""
    index: Any = lens.index
    parts: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    arrays = tuple(part for part in parts if isinstance(part, jax.Array | np.ndarray))
    layout = tuple(_hashable(part) for part in parts)
    args = tuple(sorted(lens.args.items()))
    return arrays, (isinstance(index, tuple), layout, args)


def _hashable(part: Any) -> tuple[str, Any]:
    if isinstance(part, jax.Array | np.ndarray):
        return _ARRAY, None
    if isinstance(part, slice):  # not hashable before Python 3.12
        return "slice", (part.start, part.stop, part.step)
    return "other", part


def _join(rest: Any, arrays: Any) -> IndexLens[Any]:
    is_tuple, layout, args = rest
    remaining = iter(arrays)
    parts = tuple(
        next(remaining) if kind == _ARRAY else slice(*part) if kind == "slice" else part
        for kind, part in layout
    )
    lens = object.__new__(IndexLens)  # JAX may put anything in the place of an array
    lens.index = parts if is_tuple else parts[0]
    lens.args = cast("ScatterArgs", dict(args))
    return lens


jax.tree_util.register_pytree_node(IndexLens, _split, _join)
