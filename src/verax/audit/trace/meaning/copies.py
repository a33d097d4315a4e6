"""What a value is a copy, a cast, a view or an element of."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..program import Step, Value

# Steps after which a value is still the same thing.
_COPIES = {
    "broadcast_in_dim",
    "reshape",
    "squeeze",
    "expand_dims",
    "transpose",
    "stop_gradient",
    "copy",
    "copy_p",
    "reduce_precision",
    "optimization_barrier",
    "sharding_constraint",
    "pvary",
}

# A part of a value means what the value means, but is not the same value.
PARTS = {"slice", "dynamic_slice", "rev"}


def before_copy(value: Value) -> Value | None:
    """The value that this one is a copy, a cast, a view or an element of."""
    step = value.producer
    if step is None:
        return None
    if step.primitive in _COPIES or step.primitive == "convert_element_type":
        return step.inputs[0]
    return _ELEMENT[step.kind](step, value) if step.kind in _ELEMENT else None


def root(value: Value) -> Value:
    """The first value of which this one is only a copy."""
    while (before := before_copy(value)) is not None:
        value = before
    return value


def _mapped(step: Step, value: Value) -> Value | None:
    for outer, inner, _ in step.detail.mapped:
        if inner is value:
            return outer
    return next((inner for out, inner, _ in step.detail.results if out is value), None)


def _scanned(step: Step, value: Value) -> Value | None:
    loop = step.detail
    for outer, inner in zip(loop.scanned, loop.slices, strict=True):
        if inner is value:
            return outer
    return next(
        (inner for inner, out in zip(loop.stacks, loop.stacked, strict=True) if out is value), None
    )


def _differentiated(step: Step, value: Value) -> Value | None:
    return next((outer for outer, inner in step.detail.differentiated if inner is value), None)


_ELEMENT: dict[str, Callable[[Step, Value], Value | None]] = {
    "map": _mapped,
    "scan": _scanned,
    "derive": _differentiated,
}


def made_by(value: Value, *primitives: str) -> Step | None:
    """The step that makes a value or what it is a copy of, if it is one of these primitives."""
    step = uncast(value).producer
    return step if step is not None and step.primitive in primitives else None


def uncast(value: Value) -> Value:
    """A value before it was broadcast, cast or reshaped to meet another."""
    while (step := value.producer) is not None and step.primitive in (
        "broadcast_in_dim",
        "convert_element_type",
        "stop_gradient",
        "reshape",
        "squeeze",
    ):
        value = step.inputs[0]
    return value


def number_of(value: Value) -> float | None:
    """The number that a value is everywhere, if it is known."""
    value = uncast(value)
    if not value.is_constant or np.size(value.constant) != 1:
        return None
    try:
        # A complex one is converted by an item only, which fails; an array loses a part of it.
        return float(np.ravel(value.constant)[0].item())
    except (TypeError, ValueError):
        return None
