"""Copies of what functions are called with, for analyses that need values.

A copy is made before the call, as a donated buffer is gone after it, and on the host, where it
takes no memory of a device. Of what does not fit into the budget only the type is kept.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .calls import is_array

DEFAULT_BUDGET = 256 * 2**20  # bytes


class Copies:
    """Makes copies until the budget is used up."""

    def __init__(self, budget: int = DEFAULT_BUDGET):
        self._left = budget

    def of(self, tree: Any) -> Any:
        """The same tree with copies of its arrays, or with their types if they are too large."""
        return jax.tree.map(self._copy, tree)

    def _copy(self, leaf: Any) -> Any:
        if not is_array(leaf):
            return leaf
        size = int(getattr(leaf, "nbytes", 0))
        if size > self._left or not _is_here(leaf):
            return type_of(leaf)
        self._left -= size
        return _copied(leaf)


def _is_here(leaf: Any) -> bool:
    if not isinstance(leaf, jax.Array):
        return True
    return leaf.is_fully_addressable and not leaf.is_deleted()


def _copied(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array):
        return np.array(leaf)
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        data = jnp.asarray(np.array(jax.random.key_data(leaf)))
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(leaf))
    if jax.typeof(leaf).weak_type:
        # NumPy knows no weak types; a number has one. Larger arrays of weak type are rare.
        return leaf.item() if leaf.ndim == 0 else type_of(leaf)
    return np.array(leaf)


def type_of(leaf: Any) -> Any:
    """The type of an array, to trace with."""
    aval = jax.typeof(leaf)
    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))
