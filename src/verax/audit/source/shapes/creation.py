"""Arrays made from numbers: their sizes follow from the arguments."""

from __future__ import annotations

import math

from .dims import Dim, Size, add, floordiv, minimum, sub
from .shape import Known, Mismatch, Shape, known, normal_axes


def arange(start: Dim | float, stop: Dim | float = None, step: Dim | float = None) -> Known:
    """`arange(stop)` or `arange(start, stop, step)`; None is an argument left out."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if step == 0:
        raise Mismatch("arange with step 0")
    if isinstance(start, Size) or isinstance(stop, Size) or isinstance(step, Size):
        if isinstance(start, float) or isinstance(stop, float) or not isinstance(step, int):
            return (None,)
        if step < 0:
            start, stop, step = stop, start, -step
        return (floordiv(add(sub(stop, start), step - 1), step),)
    if start is None or stop is None:
        return (None,)
    if isinstance(start, float) or isinstance(stop, float) or isinstance(step, float):
        return (max(0, math.ceil((stop - start) / step)),)
    return (len(range(start, stop, step)),)


def eye(rows: Dim, columns: Dim = None) -> Known:
    """A square unless it has its own number of columns; None is that left out."""
    return (rows, rows if columns is None else columns)


def diag(shape: Shape, offset: int | None = 0) -> Shape:
    """The diagonal of a matrix, or the matrix with a diagonal; an unknown offset is None."""
    whole = known(shape)
    if whole is None:
        return None
    if len(whole) == 1:
        side = None if offset is None else add(whole[0], abs(offset))
        return (side, side)
    if len(whole) == 2:
        return diagonal(whole, offset)
    raise Mismatch(f"diag of an array with {len(whole)} axes")


def diagonal(shape: Known, offset: int | None, axis1: int = 0, axis2: int = 1) -> Known:
    """The other axes, then the diagonal."""
    if len(shape) < 2:
        raise Mismatch("the diagonal of an array with less than two axes")
    first, second = normal_axes((axis1, axis2), len(shape))
    rows, columns = shape[first], shape[second]
    length = None
    if offset is not None:
        if offset >= 0:
            columns = sub(columns, offset)
        else:
            rows = add(rows, offset)
        length = minimum(rows, columns)
        length = max(length, 0) if type(length) is int else length
    return (*(dim for at, dim in enumerate(shape) if at not in (first, second)), length)


def window_count(size: Dim, window: Dim, stride: Dim = 1, padding: Dim = 0) -> Dim:
    """How many windows fit on an axis, as in a convolution or pooling."""
    return add(floordiv(sub(add(size, padding), window), stride), 1)
