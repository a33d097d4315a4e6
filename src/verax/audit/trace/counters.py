"""Values that count the iterations of a loop."""

from __future__ import annotations

from collections.abc import Callable

from .numbers import Numbers
from .program import Loop, Step, Value


def stride(
    carry: Value, carried: Value, constant: Callable[[Value], int | float | None] | None = None
) -> int | None:
    """By how much a leaf of a carry grows in each iteration, if that is a known number.

    `constant` says which number a value always is.
    """
    number = constant or Numbers().constant
    step = carried.producer
    if step is None or step.primitive not in ("add", "sub") or len(step.inputs) != 2:
        return None
    left, right = step.inputs
    if step.primitive == "add" and right is carry:
        left, right = right, left
    by = number(right) if left is carry else None
    if by is None:
        return None
    return int(by) if step.primitive == "add" else -int(by)


def counter_behind(index: Value) -> tuple[Step, Value] | None:
    """The loop and its carry or slice that an index is, past casts and JAX's own `i + n`."""
    index = _plain(index)
    step = index.producer
    return (step, index) if step is not None and isinstance(step.detail, Loop) else None


def _plain(index: Value) -> Value:
    """An index without the casts around it, and without what JAX does to negative ones."""
    while index.producer is not None and index.producer.kind == "operation":
        step = index.producer
        if step.primitive in ("convert_element_type", "squeeze", "reshape", "broadcast_in_dim"):
            index = step.inputs[0]
        elif step.primitive == "select_n" and len(step.inputs) == 3:
            index = step.inputs[1]  # The other case is for negative indices.
        else:
            break
    return index


def mirrored(index: Value, last: int) -> Value | None:
    """What is counted where an index is `last - i`."""
    step = _plain(index).producer
    if step is None or step.primitive != "sub" or Numbers().constant(step.inputs[0]) != last:
        return None
    return step.inputs[1]


def last_of(index: Value) -> int | None:
    """The largest number that an index reaches, if it counts the iterations of a scan."""
    found = counter_behind(index)
    if found is None:
        return None
    step, index = found
    loop: Loop = step.detail
    for slices, scanned in zip(loop.slices, loop.scanned, strict=True):
        if slices is index and scanned.producer is not None:
            is_range = scanned.producer.primitive == "iota" and len(scanned.shape) == 1
            return scanned.shape[0] - 1 if is_range else None
    for carry, initial, carried in zip(loop.carry, loop.initial, loop.carried, strict=True):
        if carry is index and loop.length is not None and stride(carry, carried) == 1:
            start = Numbers().constant(initial)
            return None if start is None else int(start) + loop.length - 1
    return None
