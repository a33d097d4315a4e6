"""Arrays put together, cut apart, repeated and padded."""

from __future__ import annotations

from collections.abc import Sequence

from .axes import insert_axis
from .dims import Dim, add, differ, exact_quotient, floordiv, mul, show, sub, total
from .names import name_of
from .reshaping import element_count
from .shape import (
    Known,
    Mismatch,
    Shape,
    change_axis,
    known,
    least_rank,
    normal_axis,
    show_shape,
    size_of,
)


def concatenate(shapes: Sequence[Shape], axis: int | None = 0) -> Shape:
    """Arrays one after the other along an axis; all flattened first if it is None."""
    if not shapes:
        raise Mismatch("nothing to concatenate")
    if axis is None:
        return (total(tuple(map(element_count, shapes))),)
    if any(shape == () for shape in shapes):
        raise Mismatch("scalars cannot be concatenated")
    sizes = tuple(size_of(shape, axis) for shape in shapes)
    met = _unify(shapes, axis)
    return change_axis(met, axis, lambda _: (total(sizes),))


def _unify(shapes: Sequence[Shape], free: int | None) -> Shape:
    """The one shape that all have, but for the axis `free`."""
    wholes = [shape for shape in shapes if isinstance(shape, tuple)]
    if not wholes:
        return shapes[0] if len(shapes) == 1 else None
    result = list(wholes[0])
    at = normal_axis(free, len(result)) if free is not None else -1
    for other in wholes[1:]:
        if len(other) != len(result):
            raise Mismatch(f"{show_shape(wholes[0])} and {show_shape(other)} differ in rank")
        for axis, dim in enumerate(other):
            if axis == at:
                continue
            if differ(result[axis], dim):
                raise Mismatch(
                    f"{show_shape(wholes[0])} and {show_shape(other)} differ in axis {axis}"
                )
            # Of two sizes that must be equal a name says most, and a number more than a symbol.
            if result[axis] is None or (type(dim) is int and not name_of(result[axis])):
                result[axis] = dim
    return tuple(result)


def stack(shapes: Sequence[Shape], axis: int = 0) -> Shape:
    """Arrays of one shape along a new axis."""
    if not shapes:
        raise Mismatch("nothing to stack")
    return insert_axis(_unify(shapes, None), axis, len(shapes))


def atleast(shape: Shape, rank: int) -> Shape:
    """The shape with ones added up to a rank of 1, 2 or 3, where `atleast_nd` adds them."""
    if not isinstance(shape, tuple):
        return shape if least_rank(shape) >= rank else None
    if len(shape) >= rank:
        return shape
    if not shape:
        return (1,) * rank
    if rank == 2:
        return (1, *shape)
    return (1, shape[0], 1) if len(shape) == 1 else (*shape, 1)


def vstack(shapes: Sequence[Shape]) -> Shape:
    """Rows below each other."""
    return concatenate([atleast(shape, 2) for shape in shapes], 0)


def hstack(shapes: Sequence[Shape]) -> Shape:
    """Columns beside each other; vectors end to end."""
    raised = [atleast(shape, 1) for shape in shapes]
    wholes = [shape for shape in raised if isinstance(shape, tuple)]
    if not wholes:
        return None
    return concatenate(raised, 0 if len(wholes[0]) == 1 else 1)


def dstack(shapes: Sequence[Shape]) -> Shape:
    """Arrays behind each other."""
    return concatenate([atleast(shape, 3) for shape in shapes], 2)


def column_stack(shapes: Sequence[Shape]) -> Shape:
    """Vectors as the columns of a matrix."""
    columns = [
        (*(shape or (1,)), 1) if isinstance(shape, tuple) and len(shape) < 2 else shape
        for shape in shapes
    ]
    return concatenate(columns, 1)


def split(
    shape: Shape, sections: int | Sequence[Dim], axis: int = 0, exact: bool = True
) -> tuple[Shape, ...]:
    """The parts: so many of one size, or cut at these places; `array_split` is not exact."""
    size = size_of(shape, axis)
    if isinstance(shape, tuple):
        normal_axis(axis, len(shape))
    if isinstance(sections, int):
        if sections < 1:
            raise Mismatch(f"{sections} parts")
        parts = _equal_parts(size, sections, exact)
    else:
        parts = _cut(size, tuple(sections))
    return tuple(change_axis(shape, axis, lambda _, part=part: (part,)) for part in parts)


def _equal_parts(size: Dim, sections: int, exact: bool) -> Known:
    part = exact_quotient(size, sections)
    if part is not None:
        return (part,) * sections
    if type(size) is not int:
        # An exact split says that its symbol can be divided.
        return (floordiv(size, sections) if exact else None,) * sections
    if exact:
        raise Mismatch(f"size {size} does not split into {sections} equal parts")
    part, larger = divmod(size, sections)
    return (part + 1,) * larger + (part,) * (sections - larger)


def _cut(size: Dim, places: Known) -> Known:
    parts: list[Dim] = []
    start: Dim = 0
    for place in (*places, size):
        if type(size) is int and type(place) is int and type(start) is int:
            end = max(min(place + size if place < 0 else place, size), 0)
            parts.append(max(end - start, 0))
            start = end
        elif type(place) is int and place < 0:
            return (None,) * (len(places) + 1)
        else:
            parts.append(sub(place, start))
            start = place
    return tuple(parts)


def tile(shape: Shape, reps: int | Sequence[Dim]) -> Shape:
    """The array repeated as a whole along axes, counted from the last."""
    times: Known = (reps,) if isinstance(reps, int) else tuple(reps)
    whole = known(shape)
    if whole is None:
        return None
    rank = max(len(whole), len(times))
    whole = (1,) * (rank - len(whole)) + whole
    times = (1,) * (rank - len(times)) + times
    return tuple(map(mul, whole, times))


def repeat(shape: Shape, repeats: Dim, axis: int | None = None) -> Shape:
    """Each element repeated; `repeats` is unknown where it is an array."""
    if axis is None or shape == ():
        return (mul(element_count(shape), repeats),)
    return change_axis(shape, axis, lambda dim: (mul(dim, repeats),))


def pad(shape: Shape, widths: Sequence[tuple[Dim, Dim]]) -> Shape:
    """The array with as much before and behind each axis; one pair serves all axes."""
    whole = known(shape)
    if whole is None:
        return None
    pairs = widths if len(widths) != 1 else tuple(widths) * len(whole)
    if len(pairs) != len(whole):
        raise Mismatch(f"{len(pairs)} pad widths for {show_shape(whole)}")
    padded: list[Dim] = []
    for dim, (before, behind) in zip(whole, pairs, strict=True):
        if (type(before) is int and before < 0) or (type(behind) is int and behind < 0):
            raise Mismatch(f"pad width ({show(before)}, {show(behind)}) is negative")
        padded.append(add(add(dim, before), behind))
    return tuple(padded)
