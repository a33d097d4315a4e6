"""Functions from the smaller modules: segments, images, statistics."""

from __future__ import annotations

from ..contraction import dot, matmul
from ..dtypes import DType, inexact
from ..reshaping import element_count
from ..shape import change_axis, known
from ..values import ANYTHING, Value, several
from .arguments import Arguments
from .entries import Rule, Table, entries
from .pointwise import pointwise
from .products import product
from .reductions import along, reduced, trapezoid


def _segments(args: Arguments) -> Value:
    """One row for each segment; how many there are is known only if it is said."""
    count = args.size("num_segments")
    return Value(change_axis(args.array.shape, 0, lambda _: (count,)), args.array.dtype)


def _resized(args: Arguments) -> Value:
    return Value(args.sizes("shape"), inexact(args.array.dtype))


def _repeated(args: Arguments) -> Value:
    return Value(args.sizes("new_shape"), args.array.dtype)


def _covariance(args: Arguments) -> Value:
    shape, dtype = known(args.array.shape), inexact(args.array.dtype)
    if shape is None or args.given("y") or args.constant("rowvar", True) is not True:
        return Value(None, dtype)
    return Value((shape[0], shape[0]) if len(shape) == 2 else (), dtype)


def _size(args: Arguments) -> Value:
    count = element_count(args.array.shape)
    if count is None or "axis" in args.bound:
        return ANYTHING
    return Value((), "int32*", count)


def _pair(args: Arguments) -> Value:
    part = Value(args.array.shape, inexact(args.array.dtype))
    return several(part, part)


def _floating(_: DType) -> DType:
    return "float32"


def _error_of_mean(args: Arguments) -> Value:
    return Value(reduced(args, default=0), inexact(args.array.dtype))


def _table() -> Table:
    segment = "data, segment_ids, num_segments, indices_are_sorted, unique_indices"
    rows: list[tuple[str, str, str, Rule]] = [
        ("jax.ops", "segment_sum segment_prod segment_max segment_min", segment, _segments),
        ("jax.image", "resize", "image, shape, method, antialias, precision", _resized),
        (
            "jax.image",
            "scale_and_translate",
            "image, shape, spatial_dims, scale, translation, method, antialias, precision",
            _resized,
        ),
        ("jax.scipy.integrate", "trapezoid", "y, x, dx, axis", trapezoid),
        ("jax.scipy.stats", "rankdata", "a, method, *, axis, nan_policy", along(_floating)),
        ("jax.scipy.stats", "sem", "a, axis, ddof, nan_policy, *, keepdims", _error_of_mean),
        ("jax.lax", "batch_matmul", "lhs, rhs, precision", product(matmul)),
        ("jax.lax", "dot", "lhs, rhs, *, precision, preferred_element_type", product(dot)),
        ("jax.numpy", "cov", "m, y, rowvar", _covariance),
        ("jax.numpy", "corrcoef", "x, y, rowvar", _covariance),
        ("jax.numpy", "resize", "a, new_shape", _repeated),
        ("jax.numpy", "size", "a, axis", _size),
        ("jax.numpy", "modf", "x, out", _pair),
        ("jax.numpy", "spacing", "x", pointwise(inexact)),
    ]
    table: Table = {}
    for module, names, signature, rule in rows:
        table.update(entries(module, names, signature, rule))
    return table


TABLE: Table = _table()
