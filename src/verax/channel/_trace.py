"""One call of a function, traced to a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr

from .._jax import closed


class Trace:
    """A call with arrays apart from everything else.

    Only arrays are traced. What is not an array (a number, a name, a function) reaches the
    function as it was given, and leaves it as it was returned.
    """

    def __init__(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any):
        self._function = function
        self._leaves, self._treedef = jax.tree.flatten((args, kwargs))
        self._places = [i for i, leaf in enumerate(self._leaves) if _is_array(leaf)]
        self.arrays = [jnp.asarray(self._leaves[i]) for i in self._places]
        self._out_leaves: list[Any] = []
        self._out_treedef: Any = None

    def program(self) -> tuple[Jaxpr, Sequence[Any]]:
        """The program of the call and its constants; to be run on `arrays`."""
        return closed(jax.make_jaxpr(self._run)(*self.arrays))

    def result(self, arrays: Sequence[Any]) -> Any:
        """What the function returned, given the results of its program."""
        rest = iter(arrays)
        leaves = [next(rest) if leaf is _ARRAY else leaf for leaf in self._out_leaves]
        return jax.tree.unflatten(self._out_treedef, leaves)

    def _run(self, *arrays: Any) -> list[Any]:
        leaves = list(self._leaves)
        for place, array in zip(self._places, arrays, strict=True):
            leaves[place] = array
        args, kwargs = jax.tree.unflatten(self._treedef, leaves)
        out_leaves, self._out_treedef = jax.tree.flatten(self._function(*args, **kwargs))
        # Tracers must not outlive the trace.
        self._out_leaves = [_ARRAY if _is_array(leaf) else leaf for leaf in out_leaves]
        return [leaf for leaf in out_leaves if _is_array(leaf)]


_ARRAY = object()


def _is_array(leaf: Any) -> bool:
    if not isinstance(leaf, (jax.Array, np.ndarray, np.generic)):
        return False
    # The tangents of integers have a dtype that no program can compute with.
    return leaf.dtype != jax.dtypes.float0
