"""How often each of several numbers is there: some may not be there at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..liveness import needed_for
from ..program import Step, Value
from .identity import REARRANGE
from .interval import Point


def empty_class(step: Step) -> tuple[Point, ...]:
    """The zero in a sum of one-hot vectors over all but their classes, where the data decide."""
    cast = step.inputs[0].producer
    if cast is None or cast.primitive != "convert_element_type":
        return ()
    equal = cast.inputs[0].producer
    if equal is None or equal.primitive != "eq":
        return ()
    for classes, labels in (equal.inputs, equal.inputs[::-1]):
        axis = _counted_along(classes)
        if axis is not None and axis not in step.params["axes"] and _is_given(labels):
            return (Point(0, step),)
    return ()


def _counted_along(value: Value) -> int | None:
    """The axis along which a value is 0, 1, 2, …, and the same along all others."""
    step = value.producer
    if step is None:
        return _of_constant(value)
    if step.primitive == "iota":
        return step.params["dimension"]
    if step.primitive == "convert_element_type":
        return _counted_along(step.inputs[0])
    if step.primitive not in ("broadcast_in_dim", "reshape", "expand_dims"):
        return None
    before = _counted_along(step.inputs[0])
    if before is None:
        return None
    if step.primitive == "broadcast_in_dim":
        return step.params["broadcast_dimensions"][before]
    size = step.inputs[0].shape[before]
    same = [axis for axis, it in enumerate(step.outputs[0].shape) if it == size]
    return same[0] if len(same) == 1 and np.prod(step.outputs[0].shape) == size else None


def _of_constant(value: Value) -> int | None:
    if not value.is_constant or value.constant is None:
        return None
    flat: np.ndarray[Any, Any] = np.ravel(value.constant)
    sizes = [axis for axis, it in enumerate(value.shape) if it > 1]
    if len(sizes) != 1:
        return None
    return sizes[0] if np.array_equal(flat, np.arange(flat.size)) else None


def _is_given(value: Value) -> bool:
    """Whether a value depends on what the program is given."""
    return any(it.producer is None and not it.is_constant for it in needed_for([value]))


def is_by_sizes(index: Value) -> bool:
    """Whether an index numbers the parts of an array by how long each part is.

    `jnp.repeat(jnp.arange(n), sizes)` counts up along the array, by a running sum. Whoever says how
    many there are of each part has none of which there are none; other indices leave that open.
    """
    for _ in range(_STEPS):
        step = index.producer
        if step is None:
            return False
        if step.primitive == "cumsum":
            return True
        if step.primitive == "gather" and _counted_along(step.inputs[0]) is not None:
            index = step.inputs[1]
        elif step.primitive == "select_n" and len(step.inputs) == 3:
            index = step.inputs[1]  # What indexing makes of it: `where(i < 0, i + n, i)`.
        elif step.primitive in _SHIFTED or step.primitive in REARRANGE:
            index = next((it for it in step.inputs if not it.is_constant), step.inputs[0])
        else:
            return False
    return False


# So far, an index is followed back.
_STEPS = 16
_SHIFTED = frozenset("add sub max min clamp convert_element_type".split())
