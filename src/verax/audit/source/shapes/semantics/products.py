"""Products of arrays."""

from __future__ import annotations

from collections.abc import Callable

from ..contraction import (
    AxisPairs,
    dot,
    dot_general,
    einsum,
    inner,
    matmul,
    outer,
    tensordot,
    vecdot,
)
from ..dims import mul
from ..dtypes import promote
from ..shape import Shape, change_axis, known
from ..values import ANYTHING, Value
from .arguments import Arguments, constant_of
from .entries import Rule, Table, entries, function


def product(shape: Callable[[Shape, Shape], Shape]) -> Rule:
    """A rule for products of the first two arguments."""

    def rule(args: Arguments) -> Value:
        a, b = args.leading(2)
        dtype = args.dtype("preferred_element_type", promote(a.dtype, b.dtype))
        return Value(shape(a.shape, b.shape), dtype)

    return rule


def _scalar(a: Shape, b: Shape) -> Shape:
    del a, b
    return ()


def _matvec(a: Shape, b: Shape) -> Shape:
    if not isinstance(a, tuple) or not isinstance(b, tuple) or not b:
        return None
    return _dropped(matmul(a, (*b, 1)), -1)


def _vecmat(a: Shape, b: Shape) -> Shape:
    if not isinstance(a, tuple) or not isinstance(b, tuple) or not a:
        return None
    return _dropped(matmul((*a[:-1], 1, a[-1]), b), -2)


def _dropped(shape: Shape, axis: int) -> Shape:
    return change_axis(shape, axis, lambda _: ())


def _tensordot(args: Arguments) -> Value:
    a, b = args.leading(2)
    dtype = args.dtype("preferred_element_type", promote(a.dtype, b.dtype))
    axes = constant_of(args["axes"]) if "axes" in args.bound else 2
    if type(axes) is int:
        return Value(tensordot(a.shape, b.shape, axes), dtype)
    pairs = _axis_pairs(axes)
    return Value(None if pairs is None else tensordot(a.shape, b.shape, pairs), dtype)


def _paired(axes: object) -> tuple[int, ...] | None:
    if type(axes) is int:
        return (axes,)
    if isinstance(axes, tuple) and all(type(axis) is int for axis in axes):
        return axes
    return None


def _dot_general(args: Arguments) -> Value:
    a, b = args.leading(2)
    dtype = args.dtype("preferred_element_type", promote(a.dtype, b.dtype))
    numbers = constant_of(args["dimension_numbers"])
    if not isinstance(numbers, tuple) or len(numbers) != 2:
        return Value(None, dtype)
    summed, batch = map(_axis_pairs, numbers)
    if summed is None or batch is None:
        return Value(None, dtype)
    return Value(dot_general(a.shape, b.shape, summed, batch), dtype)


def _axis_pairs(axes: object) -> AxisPairs | None:
    if not isinstance(axes, tuple) or len(axes) != 2:
        return None
    first, second = map(_paired, axes)
    return None if first is None or second is None else (first, second)


def _einsum(args: Arguments) -> Value:
    subscripts = args.array.constant
    dtype = args.dtype("preferred_element_type", promote(*[x.dtype for x in args.rest]))
    if not isinstance(subscripts, str):
        return Value(None, dtype)
    return Value(einsum(subscripts, [x.shape for x in args.rest]), dtype)


def _kron(a: Shape, b: Shape) -> Shape:
    first, second = known(a), known(b)
    if first is None or second is None:
        return None
    rank = max(len(first), len(second))
    first = (1,) * (rank - len(first)) + first
    second = (1,) * (rank - len(second)) + second
    return tuple(map(mul, first, second))


def _multi_dot(args: Arguments) -> Value:
    items = args.sequence("arrays")
    if not items:
        return ANYTHING
    shape = items[0].shape
    for item in items[1:]:
        shape = dot(shape, item.shape)
    return Value(shape, promote(*[item.dtype for item in items]))


def _table() -> Table:
    preferred = "*, precision, preferred_element_type"
    rows: list[tuple[str, str, Rule]] = [
        ("matmul", f"a, b, {preferred}, out_sharding", product(matmul)),
        ("dot", f"a, b, {preferred}, out_sharding", product(dot)),
        ("inner", f"a, b, {preferred}", product(inner)),
        ("vdot", f"a, b, {preferred}", product(_scalar)),
        ("vecdot linalg.vecdot", f"x1, x2, *, axis{preferred[1:]}", product(vecdot)),
        ("matvec", "x1, x2", product(_matvec)),
        ("vecmat", "x1, x2", product(_vecmat)),
        ("outer", "a, b, out", product(outer)),
        ("linalg.outer", "x1, x2", product(outer)),
        ("linalg.matmul", f"x1, x2, {preferred}", product(matmul)),
        ("kron", "a, b", product(_kron)),
        ("tensordot", f"a, b, axes, {preferred}, out_sharding", _tensordot),
        ("linalg.tensordot", f"x1, x2, *, axes{preferred[1:]}, out_sharding", _tensordot),
        ("einsum", f"subscripts, *operands, out, optimize{preferred[1:]}, out_sharding", _einsum),
        ("linalg.multi_dot", "arrays, *, precision", _multi_dot),
    ]
    table: Table = {"operator.matmul": function("a, b", product(matmul))}
    for names, signature, rule in rows:
        table.update(entries("jax.numpy", names, signature, rule))
    general = "lhs, rhs, dimension_numbers, precision, preferred_element_type, *, out_sharding"
    table.update(entries("jax.lax", "dot_general", general, _dot_general))
    return table


TABLE: Table = _table()
