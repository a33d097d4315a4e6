"""What indexing selects: NumPy's basic and advanced indices, as JAX has them."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import NamedTuple, TypeAlias

from .dims import Dim, Size, add, at_least, differ, floordiv, minimum, mul, show, sub
from .shape import (
    Known,
    Mismatch,
    Partial,
    Shape,
    broadcast,
    broadcast_to,
    change_axis,
    known,
    least_rank,
    normal_axis,
    partial,
    show_shape,
)
from .values import UNKNOWN, Unknown


class Gather(NamedTuple):
    """An index that is an array of this shape: of integers, or a boolean mask.

    A traced integer is `Gather(())`.
    """

    shape: Shape
    mask: bool = False


# In a slice, None is a bound left out and UNKNOWN one that is not known.
Item: TypeAlias = int | Size | slice | EllipsisType | Gather | Unknown | None


class OutOfBounds(NamedTuple):
    """An integer index that the axis does not have. JAX clamps it in silence."""

    position: int
    axis: int
    size: int


def index(shape: Shape, items: Sequence[Item]) -> Shape:
    """The shape of `x[items]`."""
    if any(item is UNKNOWN or _rankless_mask(item) for item in items):
        return None
    consumed = sum(map(_consumes, items))
    dots = items.index(...) if ... in items else len(items)
    before, behind = items[:dots], items[dots + 1 :]
    if not isinstance(shape, tuple):
        return _index_partial(shape, before, behind)
    rest = len(shape) - consumed
    if rest < 0:
        raise Mismatch(f"{consumed} indices for {show_shape(shape)}")
    return _select(shape, [*before, *[slice(None)] * rest, *behind])


def _rankless_mask(item: Item) -> bool:
    return isinstance(item, Gather) and item.mask and known(item.shape) is None


def _consumes(item: Item) -> int:
    if item is None or item is ...:
        return 0
    return least_rank(item.shape) if isinstance(item, Gather) and item.mask else 1


def _index_partial(shape: Partial | None, before: Sequence[Item], behind: Sequence[Item]) -> Shape:
    """Both ends are indexed for themselves, which arrays of indices do not allow."""
    if any(isinstance(item, Gather) and item.shape != () for item in (*before, *behind)):
        return None
    lead, trail = (shape.lead, shape.trail) if shape else ((), ())
    first, last = sum(map(_consumes, before)), sum(map(_consumes, behind))
    # An index may reach from one end into what the other end says of the same axes.
    reach, left = first > len(lead), last > len(trail)
    front = lead + (None,) * (first - len(lead))
    back = (None,) * (last - len(trail)) + trail
    if left:
        front = (None,) * first
    if reach:
        back = (None,) * last
    head = _select(front, [*before, *[slice(None)] * (len(front) - first)])
    tail = _select(back, [*[slice(None)] * (len(back) - last), *behind])
    return partial(known(head) or (), known(tail) or ())


def _select(shape: Known, items: Sequence[Item]) -> Shape:
    """The shape selected by as many items as there are axes, and new axes between them."""
    result: list[Dim] = []
    arrays: list[Shape] = []
    array_at: list[int] = []  # where among the items the arrays are
    place = 0  # where in the result their axes go, if the arrays are neighbours
    axis = 0
    has_array = any(isinstance(item, Gather) for item in items)
    for at, item in enumerate(items):
        if item is None:
            result.append(1)
        elif isinstance(item, slice):
            result.append(_sliced(shape[axis], item))
            axis += 1
        elif isinstance(item, Gather) or (has_array and isinstance(item, (int, Size))):
            if not arrays:
                place = len(result)
            array_at.append(at)
            if isinstance(item, Gather) and item.mask:
                _check_mask(item, shape[axis : axis + _consumes(item)])
                # All masks' elements that are true: as many as only running can tell.
                arrays.append((None,))
                axis += _consumes(item)
            else:
                arrays.append(item.shape if isinstance(item, Gather) else ())
                axis += 1
        else:
            axis += 1
    if not arrays:
        return tuple(result)
    gathered = broadcast(*arrays)
    if array_at != list(range(array_at[0], array_at[0] + len(array_at))):
        place = 0
    if isinstance(gathered, tuple):
        return (*result[:place], *gathered, *result[place:])
    trail = gathered.trail if gathered else ()
    return partial(tuple(result[:place]), (*trail, *result[place:]))


def _check_mask(item: Gather, axes: Known) -> None:
    for wanted, dim in zip(known(item.shape) or (), axes, strict=True):
        if differ(wanted, dim):
            raise Mismatch(f"a mask of {show_shape(item.shape)} on axes of {show_shape(axes)}")


def _sliced(size: Dim, item: slice) -> Dim:
    start, stop, step = item.start, item.stop, item.step
    if start is None and stop is None and step is None:
        return size
    if start is UNKNOWN or stop is UNKNOWN or step is UNKNOWN or size is None:
        return None
    if all(bound is None or type(bound) is int for bound in (start, stop, step)):
        if type(size) is int:
            if step == 0:
                raise Mismatch("a slice with step 0")
            return len(range(*item.indices(size)))
    elif step is not None and type(step) is not int:
        return None
    step = 1 if step is None else step
    if step < 0:
        return floordiv(sub(size, step + 1), -step) if start is None and stop is None else None
    if step == 0:
        raise Mismatch("a slice with step 0")
    first: Dim = 0 if start is None else _bound(start, size, is_start=True)
    length = _between(first, size if stop is None else _bound(stop, size))
    return length if step == 1 else floordiv(add(length, step - 1), step)


def _between(start: Dim, stop: Dim) -> Dim:
    """How far it is, or 0 where it is backwards."""
    length = sub(stop, start)
    if start == 0 or at_least(stop, start):
        return max(length, 0) if type(length) is int else length
    if at_least(start, stop):
        return 0
    # n - 3 is positive in general, which of n - m nobody can say.
    return length if type(start) is int else None


def _negative(bound: int | Size) -> bool | None:
    """Whether a bound is counted from the end: n - 1 in general is not, n - m nobody knows."""
    if not isinstance(bound, Size):
        return bound < 0
    signs = {factor < 0 for monomial, factor in bound.terms if monomial}
    return signs.pop() if len(signs) == 1 else None


def _bound(bound: int | Size, size: Dim, is_start: bool = False) -> Dim:
    """A bound counted from the front, within the axis."""
    backwards = _negative(bound)
    if backwards is None:
        return bound if at_least(size, bound) else None
    if backwards:
        # The last k of n elements begin at n - min(n, k).
        return sub(size, minimum(size, mul(bound, -1))) if is_start else add(size, bound)
    # An axis that is sliced from its third element has that many, in general.
    return bound if is_start and type(bound) is int else minimum(size, bound)


def out_of_bounds(shape: Shape, items: Sequence[Item]) -> OutOfBounds | None:
    """The first integer index beyond an axis of known size."""
    whole = known(shape)
    if whole is None or any(item is UNKNOWN for item in items):
        return None
    axis = 0
    rest = len(whole) - sum(map(_consumes, items))
    for item in items:
        if item is ...:
            axis += rest
            continue
        size = whole[axis] if 0 <= axis < len(whole) else None
        if type(item) is int and type(size) is int and not -size <= item < size:
            return OutOfBounds(item, axis, size)
        axis += _consumes(item)
    return None


def take(shape: Shape, indices: Shape, axis: int | None = None) -> Shape:
    """The axis replaced by those of the indices; of the flattened array if it is None."""
    if axis is None:
        return indices
    if isinstance(indices, tuple):
        return change_axis(shape, axis, lambda _: indices)
    return None


def take_along_axis(shape: Shape, indices: Shape, axis: int | None = -1) -> Shape:
    """As many elements along an axis as there are indices, the other axes broadcast."""
    if axis is None:
        return indices
    array, chosen = known(shape), known(indices)
    if array is None or chosen is None:
        return indices if array is None else None
    if len(array) != len(chosen):
        raise Mismatch(f"indices {show_shape(chosen)} for an array {show_shape(array)}")
    at = normal_axis(axis, len(array))
    others = known(
        broadcast((*array[:at], 1, *array[at + 1 :]), (*chosen[:at], 1, *chosen[at + 1 :]))
    )
    return (*others[:at], chosen[at], *others[at + 1 :]) if others else None


def update(shape: Shape, items: Sequence[Item], value: Shape) -> Shape:
    """The shape of `x.at[items].set(value)`, whose value must broadcast to what is selected."""
    target = index(shape, items)
    # Of nothing, nothing is written, whatever the value.
    if target is not None and 0 not in (known(target) or ()):
        broadcast_to(value, target)
    return shape


def dynamic_slice(shape: Shape, sizes: Sequence[Dim]) -> Known:
    """The slice's own sizes, none of which may exceed the array's."""
    whole = known(shape)
    if whole is not None:
        if len(whole) != len(sizes):
            raise Mismatch(f"{len(sizes)} slice sizes for {show_shape(whole)}")
        for dim, size in zip(whole, sizes, strict=True):
            if at_least(dim, size) is False:
                raise Mismatch(f"a slice of {show(size)} elements from an axis of {show(dim)}")
    return tuple(sizes)
