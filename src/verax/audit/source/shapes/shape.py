"""Shapes of arrays, as far as they are known, and where operations on them must fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from .dims import Dim, Size, differ, same, show
from .names import name_of


@dataclass(frozen=True, slots=True)
class Partial:
    """A shape of unknown rank whose first or last sizes are known; they do not overlap.

    `x[None]` of an unknown `x` leads with 1, `x @ ones((h, 3))` trails with 3. One that leads and
    trails with nothing is written `None`.
    """

    lead: tuple[Dim, ...] = ()
    trail: tuple[Dim, ...] = ()


Known: TypeAlias = tuple[Dim, ...]
Shape: TypeAlias = Known | Partial | None
Axes: TypeAlias = int | tuple[int, ...] | None


class Mismatch(Exception):
    """An operation on shapes is certain to fail; `reason` says why, without the operation."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


def partial(lead: Known, trail: Known) -> Shape:
    """A shape of unknown rank."""
    return Partial(lead, trail) if lead or trail else None


def known(shape: Shape) -> Known | None:
    """All the sizes, if all axes are known."""
    return None if shape is None or isinstance(shape, Partial) else shape


def rank(shape: Shape) -> int | None:
    """The number of axes, if it is known."""
    return len(shape) if isinstance(shape, tuple) else None


def least_rank(shape: Shape) -> int:
    """The number of axes that are there for sure."""
    if shape is None:
        return 0
    return len(shape.lead) + len(shape.trail) if isinstance(shape, Partial) else len(shape)


def show_shape(shape: Shape) -> str:
    """The shape as a reader would write it: `(b, 3)`, `(1, ..., n)`, `(...)`."""
    if shape is None:
        return "(...)"
    if isinstance(shape, Partial):
        return f"({', '.join([*map(show, shape.lead), '...', *map(show, shape.trail)])})"
    return f"({', '.join(map(show, shape))}{',' if len(shape) == 1 else ''})"


def size_of(shape: Shape, axis: int) -> Dim:
    """The size of an axis, unknown if the axis is not known to be there."""
    if shape is None:
        return None
    if isinstance(shape, Partial):
        part = shape.lead if axis >= 0 else shape.trail
        return part[axis] if -len(part) <= axis < len(part) else None
    return shape[axis] if -len(shape) <= axis < len(shape) else None


def normal_axis(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if 0 <= axis < rank:
        return axis
    if -rank <= axis < 0:
        return axis + rank
    raise Mismatch(f"axis {axis} does not exist in {rank} dimension{'s' if rank != 1 else ''}")


def normal_axes(axes: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """Axes counted from the front, each of which may be named once."""
    if isinstance(axes, int):
        return (normal_axis(axes, rank),)
    found = tuple(normal_axis(axis, rank) for axis in axes)
    if len(set(found)) != len(found):
        raise Mismatch(f"an axis is named twice in {tuple(axes)}")
    return found


def change_axis(shape: Shape, axis: int, change: Callable[[Dim], Known]) -> Shape:
    """The shape with one axis replaced by none, one or several.

    Of a partial shape that does not tell where the axis is, what the change cannot reach is kept.
    """
    if shape is None:
        return None
    if not isinstance(shape, Partial):
        at = normal_axis(axis, len(shape))
        return shape[:at] + change(shape[at]) + shape[at + 1 :]
    lead, trail = shape.lead, shape.trail
    if axis >= 0:
        if axis < len(lead):
            return partial(lead[:axis] + change(lead[axis]) + lead[axis + 1 :], trail)
        return partial(lead, ())
    if -axis <= len(trail):
        at = axis + len(trail)
        return partial(lead, trail[:at] + change(trail[at]) + trail[at + 1 :])
    return partial((), trail)


def common(a: Shape, b: Shape) -> Shape:
    """What is known of an array that has one of two shapes."""
    if a == b:
        return a
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return tuple(one if one == other else None for one, other in zip(a, b, strict=True))
    return None


def _broadcast_dims(a: Dim, b: Dim) -> Dim:
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if a is None or b is None:
        # One of both is one, or they are equal: a size other than one is the result.
        return b if a is None else a
    if differ(a, b):
        raise Mismatch(f"{show(a)} and {show(b)} do not broadcast")
    # Of two sizes that must be equal a name says most, and a number more than a symbol.
    if name_of(b):
        return a if name_of(a) else b
    return a if type(a) is int or name_of(a) else b


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all of these broadcast to."""
    result: Shape = ()
    for shape in shapes:
        result = _broadcast_two(result, shape)
    return result


def _broadcast_two(a: Shape, b: Shape) -> Shape:
    if a == ():
        return b
    if b == () or (a is b and isinstance(a, tuple)):
        return a
    whole = True
    if a is None or isinstance(a, Partial):
        # The leading sizes are lost: what they align with is not known.
        whole, a = False, a.trail if a else ()
    if b is None or isinstance(b, Partial):
        whole, b = False, b.trail if b else ()
    first, second = a, b
    if len(a) < len(b):
        a, b = b, a
    extra = len(a) - len(b)
    # Beyond what is known of the other there may be an axis, or none.
    head = a[:extra] if whole else tuple(None if dim == 1 else dim for dim in a[:extra])
    try:
        tail = tuple(map(_broadcast_dims, a[extra:], b))
    except Mismatch as error:
        if not whole:
            raise
        raise Mismatch(f"{show_shape(first)} and {show_shape(second)}: {error.reason}") from None
    return head + tail if whole else partial((), head + tail)


def broadcast_to(shape: Shape, target: Shape) -> Shape:
    """The target, if the shape broadcasts to it."""
    source, goal = known(shape), known(target)
    if source is None or goal is None:
        return target
    if len(source) > len(goal):
        raise Mismatch(f"{show_shape(source)} does not broadcast to fewer axes {show_shape(goal)}")
    for dim, wanted in zip(reversed(source), reversed(goal), strict=False):
        if dim != 1 and differ(dim, wanted):
            raise Mismatch(f"{show_shape(source)} does not broadcast to {show_shape(goal)}")
    return target


class OuterProduct(NamedTuple):
    """Two axes of one size that broadcasting put at right angles: (n, 1) with (n,) is (n, n).

    The axes are counted from the end of the result, hence negative.
    """

    size: Dim
    longer_axis: int
    shorter_axis: int


def outer_product(a: Shape, b: Shape) -> OuterProduct | None:
    """Where arrays of different ranks meet so that an axis is paired with itself.

    (n, 1) with (1, n) is silent: who writes both ones means it.
    """
    longer, shorter = known(a), known(b)
    if longer is None or shorter is None or len(longer) == len(shorter):
        return None
    if len(longer) < len(shorter):
        longer, shorter = shorter, longer
    for axis in range(-len(shorter), 0):
        size = shorter[axis]
        if longer[axis] != 1 or size is None or size in (0, 1):
            continue
        for other in range(-len(longer), -len(shorter)):
            if same(longer[other], size):
                return OuterProduct(size, other, axis)
    return None


def coincidences(a: Shape, b: Shape) -> tuple[tuple[Size, Size], ...]:
    """Symbolic sizes that must be equal for these to broadcast, though nothing says they are.

    (b, t, 1) with (b, t) works only where `b` and `t` happen to be one number.
    """
    first, second = known(a), known(b)
    if first is None or second is None:
        return ()
    return tuple(
        (x, y)
        for x, y in zip(reversed(first), reversed(second), strict=False)
        if isinstance(x, Size) and isinstance(y, Size) and x != y
    )


def reduce(shape: Shape, axis: Axes = None, keepdims: bool = False) -> Shape:
    """The shape after a reduction: over all axes if `axis` is None."""
    if axis is None and not keepdims:
        return ()
    if shape is None:
        return None
    one: Known = (1,) if keepdims else ()
    if isinstance(shape, Partial):
        if axis is None:
            return partial((1,) * len(shape.lead), (1,) * len(shape.trail))
        if isinstance(axis, tuple):
            # A reduced axis moves the others of its side: kept ones do not, one does not matter.
            if len(axis) == 1:
                axis = axis[0]
            elif not keepdims:
                return None
            else:
                result: Shape = shape
                for each in axis:
                    result = change_axis(result, each, lambda _: (1,))
                return result
        return change_axis(shape, axis, lambda _: one)
    if axis is None:
        return (1,) * len(shape)
    if isinstance(axis, int):
        at = normal_axis(axis, len(shape))
        return shape[:at] + one + shape[at + 1 :]
    gone = normal_axes(axis, len(shape))
    return tuple(
        1 if at in gone else dim for at, dim in enumerate(shape) if keepdims or at not in gone
    )
