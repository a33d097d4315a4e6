"""`jax.lax.map` with a batch size: one loop for the user, a scan of `vmap`s for JAX.

What is emitted inside has lanes that are elements of the loop, and the elements that fill no
batch run apart, behind the scan. Both belong together: payloads fold over elements in their
order, as if there were no batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn

from .._jax import is_batched_map_body, made_by_map
from ._channel import Fold
from ._contents import Spec

Arrays = list[Any]


@dataclass(frozen=True)
class Batches:
    """What the scan of a batched map leaves to be known about elements that come after it.

    `count` elements were in full batches; `lanes` axes of `vmap` and `depth` loops stand between
    the map and the emission.
    """

    count: int
    lanes: int
    depth: int
    scan: Jaxpr = field(repr=False)


def batch_size(body: Jaxpr) -> int | None:
    """The number of elements in a batch, if this is the body of a batched map."""
    if not body.invars or not is_batched_map_body(body):
        return None
    element: Any = body.invars[-1].aval
    return element.shape[0] if element.shape else None


def without_batch_axis(spec: Spec, body: Jaxpr, length: int, depth: int) -> Spec:
    """The type of a payload after it was folded over the elements of each batch."""
    size = batch_size(body)
    if size is None or spec.depth is None or not _has_element_axis(spec, size):
        return spec
    leaves = tuple(jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype) for leaf in spec.leaves)
    batches = Batches(length * size, spec.lanes - 1, spec.depth - depth - 1, body)
    label = replace(spec.label, batches=batches)
    return replace(spec, label=label, lanes=spec.lanes - 1, leaves=leaves)


def fold_batch(spec: Spec, arrays: Arrays, body: Jaxpr, depth: int) -> Arrays:
    """A payload of one batch, folded over its elements."""
    size = batch_size(body)
    if size is None or spec.depth is None or not _has_element_axis(spec, size):
        return arrays
    *leaves, path = arrays
    # The loop has counted batches so far; what counts for the user are elements.
    batch = path[..., depth]
    element = batch * size + _numbers(size, batch.ndim)
    return _fold([*leaves, path.at[..., depth].set(element)], spec)


class Gathered:
    """The payloads of a program in its order, with both parts of a batched map as one.

    Without arrays, only the types of payloads are gathered.
    """

    def __init__(self) -> None:
        self.specs: list[Spec] = []
        self.arrays: list[Arrays] = []

    def add(self, eqn: JaxprEqn, spec: Spec, arrays: Arrays | None = None) -> None:
        """Take one more payload, which came out of this equation."""
        place = self._first_part(eqn, spec)
        if place is None:
            self.specs.append(spec)
            self.arrays.extend([] if arrays is None else [arrays])
            return
        first = self.specs[place]
        if arrays is not None:
            self.arrays[place] = _add_rest(first, self.arrays[place], spec, arrays)
        self.specs[place] = replace(first, label=replace(first.label, batches=None))

    def _first_part(self, eqn: JaxprEqn, spec: Spec) -> int | None:
        """Where the full batches are, if this payload is of the elements after them."""
        matching = [i for i, first in enumerate(self.specs) if _continues(first, spec)]
        if not matching or not made_by_map(eqn):
            return None
        # Of several maps, the last; of several emissions in it, the first that is not complete.
        batches = self.specs[matching[-1]].label.batches
        return next(i for i in matching if self.specs[i].label.batches == batches)


def _add_rest(first: Spec, earlier: Arrays, spec: Spec, later: Arrays) -> Arrays:
    """The payload of the full batches, with that of the elements after them."""
    batches = first.label.batches
    lane = spec.lanes - 1 - batches.lanes
    *leaves, path = [jnp.moveaxis(array, lane, 0) for array in later]
    column = path.shape[-1] - batches.depth
    element = batches.count + _numbers(path.shape[0], path.ndim)
    element = jnp.broadcast_to(element, (*path.shape[:-1], 1))
    path = jnp.concatenate([path[..., :column], element, path[..., column:]], axis=-1)
    return first.combine(earlier, _fold([*leaves, path], spec))


def _numbers(count: int, ndim: int) -> jax.Array:
    """0, 1, 2… along the leading of `ndim` axes."""
    return jnp.arange(count, dtype=jnp.int32).reshape(count, *(1,) * (ndim - 1))


def _fold(arrays: Arrays, spec: Spec) -> Arrays:
    """Combine along the leading axis, in order. Neighbours first, so that few steps are needed."""
    fold = spec.channel.loops
    assert isinstance(fold, Fold)
    while (count := arrays[0].shape[0]) > 1:
        even = spec.unflatten([array[: count - 1 : 2] for array in arrays])
        odd = spec.unflatten([array[1::2] for array in arrays])
        merged = spec.flatten(fold.combine(even, odd))
        if count % 2:
            merged = [jnp.concatenate([m, a[-1:]]) for m, a in zip(merged, arrays, strict=True)]
        arrays = merged
    return [array[0] for array in arrays]


def _has_element_axis(spec: Spec, size: int) -> bool:
    """Whether lanes are elements: what depends on no element has none."""
    return spec.lanes > 0 and bool(spec.leaves) and spec.leaves[0].shape[0] == size


def _continues(first: Spec, rest: Spec) -> bool:
    batches = first.label.batches
    if batches is None or first.depth is None or rest.depth is None:
        return False
    lane = rest.lanes - 1 - batches.lanes
    shapes = [leaf.shape[:lane] + leaf.shape[lane + 1 :] for leaf in rest.leaves]
    return (
        rest.label.batches is None
        and rest.lanes == first.lanes + 1
        and rest.depth == first.depth - 1
        and shapes == [leaf.shape for leaf in first.leaves]
        and first.label.says_the_same_as(rest.label)
    )
