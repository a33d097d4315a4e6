"""Products that sum over axes: matmul, dot, tensordot, einsum and their relatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from .dims import Dim, Size, differ, show
from .names import name_of
from .reshaping import element_count
from .shape import (
    Known,
    Mismatch,
    Partial,
    Shape,
    broadcast,
    change_axis,
    known,
    normal_axes,
    partial,
    rank,
    size_of,
)

# Axes of the one side, and those of the other that go with them.
AxisPairs: TypeAlias = tuple[Sequence[int], Sequence[int]]


def contract(a: Dim, b: Dim) -> None:
    """Two sizes that are summed over together; they do not broadcast."""
    if differ(a, b):
        raise Mismatch(f"sizes {show(a)} and {show(b)} are contracted with each other")


def matmul(a: Shape, b: Shape) -> Shape:
    """`a @ b`."""
    if 0 in (rank(a), rank(b)):
        raise Mismatch("matmul of a scalar")
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return _partial_matmul(a, b)
    if len(b) == 1:
        contract(a[-1], b[0])
        return a[:-1]
    contract(a[-1], b[-2])
    if len(a) == 1:
        return b[:-2] + b[-1:]
    if len(a) == len(b) == 2:
        return (a[0], b[1])
    batch = known(broadcast(a[:-2], b[:-2])) or ()
    return (*batch, a[-2], b[-1])


def _partial_matmul(a: Shape, b: Shape) -> Shape:
    if isinstance(b, tuple):
        contract(size_of(a, -1), b[max(-2, -len(b))])
        if len(b) == 1:
            return change_axis(a, -1, lambda _: ())
        if len(b) > 2 or (isinstance(a, Partial) and len(a.lead) + len(a.trail) > 1):
            trail = a.trail[-2:-1] if isinstance(a, Partial) else ()
            return partial((), (*(trail or (None,)), *b[-1:]))
        return partial((), b[-1:])
    if isinstance(a, tuple) and isinstance(b, Partial) and len(b.trail) > 1:
        contract(size_of(a, -1), b.trail[-2])
        return partial((), (*a[-2:-1], b.trail[-1]))
    return None


def dot(a: Shape, b: Shape) -> Shape:
    """`jnp.dot`: an outer arrangement of the other axes instead of broadcasting."""
    if a == () or b == ():
        return a if b == () else b
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None
    if len(b) == 1:
        contract(a[-1], b[0])
        return a[:-1]
    contract(a[-1], b[-2])
    return a[:-1] + b[:-2] + b[-1:]


def inner(a: Shape, b: Shape) -> Shape:
    """The last axes summed over."""
    if a == () or b == ():
        return a if b == () else b
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None
    contract(a[-1], b[-1])
    return a[:-1] + b[:-1]


def vecdot(a: Shape, b: Shape) -> Shape:
    """The last axes summed over, the others broadcast."""
    contract(size_of(a, -1), size_of(b, -1))
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None
    if not a or not b:
        raise Mismatch("vecdot of a scalar")
    return broadcast(a[:-1], b[:-1])


def tensordot(
    a: Shape, b: Shape, axes: int | tuple[int | Sequence[int], int | Sequence[int]] = 2
) -> Shape:
    """`jnp.tensordot` over a number of axes, or over pairs of them."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None
    if isinstance(axes, int):
        if axes > min(len(a), len(b)):
            raise Mismatch(f"tensordot over {axes} axes of arrays with {len(a)} and {len(b)}")
        of_a, of_b = tuple(range(len(a) - axes, len(a))), tuple(range(axes))
    else:
        of_a, of_b = normal_axes(axes[0], len(a)), normal_axes(axes[1], len(b))
        if len(of_a) != len(of_b):
            raise Mismatch(f"tensordot pairs {len(of_a)} axes with {len(of_b)}")
    for first, second in zip(of_a, of_b, strict=True):
        contract(a[first], b[second])
    return tuple(dim for axis, dim in enumerate(a) if axis not in of_a) + tuple(
        dim for axis, dim in enumerate(b) if axis not in of_b
    )


def dot_general(a: Shape, b: Shape, summed: AxisPairs, batch: AxisPairs) -> Shape:
    """`lax.dot_general`: the axes of the batch, then those of each side that are not summed."""
    if not isinstance(a, tuple) or not isinstance(b, tuple):
        return None
    of_a, of_b = (
        (normal_axes(batch[side], len(it)), normal_axes(summed[side], len(it)))
        for side, it in enumerate((a, b))
    )
    for paired_a, paired_b in zip(of_a, of_b, strict=True):
        if len(paired_a) != len(paired_b):
            raise Mismatch(f"dot_general pairs {len(paired_a)} axes with {len(paired_b)}")
        for first, second in zip(paired_a, paired_b, strict=True):
            contract(a[first], b[second])
    return (
        *(a[axis] for axis in of_a[0]),
        *(dim for axis, dim in enumerate(a) if axis not in of_a[0] + of_a[1]),
        *(dim for axis, dim in enumerate(b) if axis not in of_b[0] + of_b[1]),
    )


def outer(a: Shape, b: Shape) -> Shape:
    """`jnp.outer`, which flattens both."""
    return (element_count(a), element_count(b))


def einsum(subscripts: str, shapes: Sequence[Shape]) -> Shape:
    """The shape of `jnp.einsum(subscripts, ...)`."""
    inputs, arrow, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if len(terms) != len(shapes):
        raise Mismatch(f"einsum {subscripts!r} names {len(terms)} operands, {len(shapes)} given")
    sizes: dict[str, Dim] = {}
    batch: Shape = ()
    for term, shape in zip(terms, shapes, strict=True):
        batch = broadcast(batch, _read_term(term, shape, sizes))
    if not arrow:
        letters = inputs.replace(",", "").replace(".", "")
        output = "..." * ("..." in inputs) + "".join(
            letter for letter in sorted(set(letters)) if letters.count(letter) == 1
        )
    return _write_term(output, batch, sizes)


def _read_term(term: str, shape: Shape, sizes: dict[str, Dim]) -> Shape:
    """Binds the letters of an operand to sizes, and returns what its ellipsis stands for."""
    before, dots, after = term.partition("...")
    whole = known(shape)
    if whole is None:
        for at, letter in enumerate(before):
            _bind(letter, size_of(shape, at), sizes)
        for at, letter in enumerate(reversed(after if dots else before)):
            _bind(letter, size_of(shape, -1 - at), sizes)
        return None if dots else ()
    extra = len(whole) - len(before) - len(after)
    if extra < 0 or (extra and not dots):
        raise Mismatch(f"einsum names {term!r}, the array has {len(whole)} axes")
    for letter, dim in zip(before, whole, strict=False):
        _bind(letter, dim, sizes)
    for letter, dim in zip(reversed(after), reversed(whole), strict=False):
        _bind(letter, dim, sizes)
    return whole[len(before) : len(before) + extra]


def _bind(letter: str, dim: Dim, sizes: dict[str, Dim]) -> None:
    bound = sizes.get(letter)
    if bound is None or bound == 1:
        sizes[letter] = dim if dim is not None else bound
    elif dim is not None and dim != 1:
        if differ(bound, dim):
            raise Mismatch(f"einsum axis {letter!r} is {show(bound)} and {show(dim)}")
        if isinstance(bound, Size) and not name_of(bound):
            sizes[letter] = dim


def _write_term(term: str, batch: Shape, sizes: dict[str, Dim]) -> Shape:
    before, dots, after = term.partition("...")
    if any(letter not in sizes for letter in before + after):
        raise Mismatch(f"einsum writes {term!r}, which has an axis that no operand has")
    if len(set(before + after)) != len(before + after):
        raise Mismatch(f"einsum writes an axis twice in {term!r}")
    lead: Known = tuple(sizes[letter] for letter in before)
    trail: Known = tuple(sizes[letter] for letter in after)
    if not dots:
        return lead
    whole = known(batch)
    if whole is None:
        rest = batch.trail if isinstance(batch, Partial) else ()
        return partial(lead, rest + trail)
    return lead + whole + trail
