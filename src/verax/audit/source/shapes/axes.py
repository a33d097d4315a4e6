"""Axes that are moved, added, dropped, mapped over or scanned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from .dims import Dim, differ, show
from .shape import (
    Known,
    Mismatch,
    Partial,
    Shape,
    change_axis,
    known,
    normal_axes,
    normal_axis,
    partial,
    show_shape,
)


def transpose(shape: Shape, axes: Sequence[int] | None = None) -> Shape:
    """The axes in another order: reversed if none is given."""
    if shape is None:
        return (None,) * len(axes) if axes else None
    if isinstance(shape, Partial):
        if axes is None:
            return partial(shape.trail[::-1], shape.lead[::-1])
        return (None,) * len(axes)
    if axes is None:
        return shape[::-1]
    order = normal_axes(axes, len(shape))
    if len(order) != len(shape):
        raise Mismatch(f"{len(order)} axes given for {show_shape(shape)}")
    return tuple(shape[axis] for axis in order)


def matrix_transpose(shape: Shape) -> Shape:
    """The last two axes swapped."""
    return swapaxes(shape, -1, -2)


def swapaxes(shape: Shape, axis1: int, axis2: int) -> Shape:
    """Two axes swapped."""
    if shape is None:
        return None
    if isinstance(shape, Partial):
        return _swapped_in_part(shape, axis1, axis2)
    first, second = normal_axis(axis1, len(shape)), normal_axis(axis2, len(shape))
    result = list(shape)
    result[first], result[second] = result[second], result[first]
    return tuple(result)


def _swapped_in_part(shape: Partial, axis1: int, axis2: int) -> Shape:
    if axis1 >= 0 and axis2 >= 0:
        if max(axis1, axis2) < len(shape.lead):
            return partial(known(swapaxes(shape.lead, axis1, axis2)) or (), shape.trail)
        return partial(shape.lead[: min(axis1, axis2)], ())
    if axis1 < 0 and axis2 < 0:
        if max(-axis1, -axis2) <= len(shape.trail):
            return partial(shape.lead, known(swapaxes(shape.trail, axis1, axis2)) or ())
        kept = -1 - max(axis1, axis2)
        return partial((), shape.trail[len(shape.trail) - kept :] if kept else ())
    return None


def moveaxis(shape: Shape, source: int | Sequence[int], destination: int | Sequence[int]) -> Shape:
    """Axes moved to other places; the rest stays in order."""
    sources = (source,) if isinstance(source, int) else tuple(source)
    goals = (destination,) if isinstance(destination, int) else tuple(destination)
    if len(sources) != len(goals):
        raise Mismatch(f"{len(sources)} axes to move, {len(goals)} places to move them to")
    whole = known(shape)
    if whole is None:
        if len(sources) == 1:
            return insert_axis(remove_axis(shape, sources[0]), goals[0], None)
        return None
    rank = len(whole)
    taken, places = normal_axes(sources, rank), normal_axes(goals, rank)
    order = [axis for axis in range(rank) if axis not in taken]
    for place, axis in sorted(zip(places, taken, strict=True)):
        order.insert(place, axis)
    return tuple(whole[axis] for axis in order)


def insert_axis(shape: Shape, axis: int, size: Dim) -> Shape:
    """The shape with another axis, at this place of the result: what leaves a `vmap`."""
    if isinstance(shape, tuple):
        at = normal_axis(axis, len(shape) + 1)
        return (*shape[:at], size, *shape[at:])
    lead, trail = (shape.lead, shape.trail) if shape else ((), ())
    if axis >= 0:
        if axis <= len(lead):
            return partial((*lead[:axis], size, *lead[axis:]), trail)
        return partial(lead, ())
    at = len(trail) + axis + 1
    if at >= 0:
        return partial(lead, (*trail[:at], size, *trail[at:]))
    return partial((), trail)


def remove_axis(shape: Shape, axis: int) -> Shape:
    """The shape without an axis: what enters a `vmap` or a step of a `scan`."""
    return change_axis(shape, axis, lambda _: ())


def expand_dims(shape: Shape, axis: int | Sequence[int]) -> Shape:
    """Axes of size one at these places of the result."""
    if isinstance(axis, int):
        return insert_axis(shape, axis, 1)
    if not isinstance(shape, tuple):
        return insert_axis(shape, axis[0], 1) if len(axis) == 1 else None
    rank = len(shape) + len(axis)
    places = normal_axes(axis, rank)
    rest = iter(shape)
    return tuple(1 if at in places else next(rest) for at in range(rank))


def squeeze(shape: Shape, axis: int | Sequence[int] | None = None) -> Shape:
    """The shape without axes of size one: all of them, as far as known, or the ones named."""
    if axis is None:
        if not isinstance(shape, tuple) or None in shape:
            # An axis of unknown size may go or stay, and with it the rank.
            return None
        return tuple(dim for dim in shape if dim != 1)
    if isinstance(axis, int):
        return change_axis(shape, axis, _squeezed)
    if not isinstance(shape, tuple):
        return change_axis(shape, axis[0], _squeezed) if len(axis) == 1 else None
    gone = normal_axes(axis, len(shape))
    for at in gone:
        _squeezed(shape[at])
    return tuple(dim for at, dim in enumerate(shape) if at not in gone)


def _squeezed(dim: Dim) -> Known:
    if differ(dim, 1):
        raise Mismatch(f"an axis of size {show(dim)} cannot be squeezed")
    return ()


class SqueezeNote(NamedTuple):
    """What `squeeze()` without an axis drops besides the one axis that is meant.

    `dropped` are the axes of size one, `symbolic` those that go when their symbol is one.
    """

    dropped: tuple[int, ...]
    symbolic: tuple[int, ...]


def squeeze_note(shape: Shape) -> SqueezeNote | None:
    """A note if `squeeze()` drops several axes, or as many as a symbol says."""
    if not isinstance(shape, tuple):
        return None
    dropped = tuple(axis for axis, dim in enumerate(shape) if dim == 1)
    symbolic = tuple(axis for axis, dim in enumerate(shape) if type(dim) is not int)
    return SqueezeNote(dropped, symbolic) if len(dropped) > 1 or symbolic else None


def scan_element(shape: Shape) -> Shape:
    """What one step of a `scan` sees of an array that is scanned over."""
    if shape == ():
        raise Mismatch("a scalar has no leading axis to scan over")
    return remove_axis(shape, 0)


def scan_stacked(shape: Shape, length: Dim) -> Shape:
    """What a `scan` of this length makes of a step's output."""
    return insert_axis(shape, 0, length)
