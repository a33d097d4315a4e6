"""The functions of `jax.lax` that take and return arrays."""

from __future__ import annotations

from .. import joining
from ..axes import insert_axis, transpose
from ..dims import Dim, Size, product, sub
from ..dtypes import DType, inexact, named, promote, real
from ..indexing import dynamic_slice, index
from ..shape import Mismatch, Shape, broadcast, change_axis, known, normal_axis, reduce, show_shape
from ..values import ANYTHING, UNKNOWN, Value, several
from .arguments import Arguments, constant_of
from .creating import cast, like
from .entries import Rule, Table, entries
from .joins import joined_along
from .pointwise import kept, pointwise, truth
from .rearranging import expanded, reshaped, same_type, squeezed, unchanged
from .selecting import TOP_K

UNARY = """
    acos acosh asin asinh atan atanh bessel_i0e bessel_i1e cosh digamma erf erf_inv erfc lgamma
    sinh bitwise_not ceil clz floor neg population_count reciprocal sign square stop_gradient
"""
ACCURATE = "cbrt cos exp exp2 expm1 log log1p logistic rsqrt sin sqrt tan tanh"
BINARY = """
    add atan2 bitwise_and bitwise_or bitwise_xor div max min mul pow rem shift_left
    shift_right_arithmetic shift_right_logical sub
"""
COMPARISONS = "eq ge gt le lt ne"


def _reduced(args: Arguments, name: str = "axes") -> Shape:
    axes = args.axes(name)
    return None if axes is UNKNOWN or axes is None else reduce(args.array.shape, axes)


def _argmax(args: Arguments) -> Value:
    axis, dtype = args.axes("axis"), named(args.constant("index_dtype"))
    return Value(reduce(args.array.shape, axis) if type(axis) is int else None, dtype)


def _select(args: Arguments) -> Value:
    """One of two arrays; of two scalars for each element of a mask, as `vmap` alone accepts."""
    shape = broadcast(args["pred"].shape, args["on_true"].shape, args["on_false"].shape)
    return Value(shape, promote(args["on_true"].dtype, args["on_false"].dtype))


def _select_n(args: Arguments) -> Value:
    """One of several arrays alike, for each element."""
    cases = args.rest
    shape = broadcast(args["which"].shape, *(it.shape for it in cases))
    return Value(shape, promote(*(it.dtype for it in cases)))


def _complex(*_: DType) -> DType:
    return "complex64"


def _clamp(args: Arguments) -> Value:
    return Value(args["x"].shape, args["x"].dtype)


def _dynamic_slice(args: Arguments) -> Shape:
    sizes = args.sizes("slice_sizes")
    return dynamic_slice(args.array.shape, sizes) if isinstance(sizes, tuple) else None


def _approximate_top(args: Arguments) -> Value:
    size, axis = args.size("k"), args.axes("reduction_dimension", -1)
    if type(axis) is not int or "aggregate_to_topk" in args.bound:
        return several(ANYTHING, ANYTHING)
    shape = change_axis(args.array.shape, axis, lambda _: (size,))
    return several(Value(shape, args.array.dtype), Value(shape, "int32"))


def _tile(args: Arguments) -> Shape:
    reps = args.sizes("reps")
    return joining.tile(args.array.shape, reps) if isinstance(reps, tuple) else None


def _ragged_dot(args: Arguments) -> Value:
    """Rows in groups, each times the matrix of its group."""
    rows, matrices = known(args["lhs"].shape), known(args["rhs"].shape)
    dtype = args.dtype("preferred_element_type", promote(args["lhs"].dtype, args["rhs"].dtype))
    if rows is None or matrices is None or len(rows) != 2 or len(matrices) != 3:
        return Value(None, dtype)
    return Value((rows[0], matrices[2]), dtype)


def _resized(name: str) -> Rule:
    """One axis cut to the size that the parameter of this name says."""

    def shape(args: Arguments) -> Shape:
        axis, size = args.axes("axis", 0), args.size(name)
        if type(axis) is not int:
            return None
        return change_axis(args.array.shape, axis, lambda _: (size,))

    return same_type(shape)


def _indexed(args: Arguments) -> Shape:
    axis, keepdims = args.axes("axis", 0), args.constant("keepdims", True)
    if type(axis) is not int or not isinstance(keepdims, bool):
        return None
    return reduce(args.array.shape, axis, keepdims)


def _slice(args: Arguments) -> Shape:
    shape = known(args.array.shape)
    starts, stops = known(args.sizes("start_indices")), known(args.sizes("limit_indices"))
    steps = known(args.sizes("strides")) if args.given("strides") else None
    if shape is None or starts is None or stops is None:
        return None
    if not len(shape) == len(starts) == len(stops):
        raise Mismatch(f"{len(starts)} starts and {len(stops)} limits for {show_shape(shape)}")
    if steps is None:
        if args.given("strides"):
            return (None,) * len(shape)
        return tuple(map(sub, stops, starts))
    items = [
        _cut(start, stop, step) for start, stop, step in zip(starts, stops, steps, strict=True)
    ]
    return index(shape, items)


def _cut(start: Dim, stop: Dim, step: Dim) -> slice:
    return slice(*(UNKNOWN if bound is None else bound for bound in (start, stop, step)))


def _slice_in_dim(args: Arguments) -> Shape:
    axis = args.axes("axis", 0)
    bounds: list[object] = []
    for name in ("start_index", "limit_index", "stride"):
        value = args.constant(name)
        bounds.append(
            value if value is None or type(value) is int or isinstance(value, Size) else UNKNOWN
        )
    if type(axis) is not int:
        return None
    cut = slice(*bounds)

    def sliced(dim: Dim) -> tuple[Dim, ...]:
        return known(index((dim,), [cut])) or (None,)

    return change_axis(args.array.shape, axis, sliced)


def _broadcast(args: Arguments) -> Shape:
    sizes, shape = known(args.sizes("sizes")), known(args.array.shape)
    return None if sizes is None or shape is None else sizes + shape


def _iota(args: Arguments) -> Value:
    return Value((args.size("size"),), args.dtype("dtype", None))


def _filled(args: Arguments) -> Value:
    fill = args["fill_value"].dtype if "fill_value" in args.bound else None
    return Value(args.sizes("shape"), args.dtype("dtype", fill))


def _transposed(args: Arguments) -> Shape:
    order = args.axes("permutation")
    return transpose(args.array.shape, order) if isinstance(order, tuple) else None


def _collapse(args: Arguments) -> Shape:
    shape = known(args.array.shape)
    start = args.integer("start_dimension", None)
    stop = args.integer("stop_dimension", None)
    if shape is None or type(start) is not int or stop is UNKNOWN:
        return None
    first = normal_axis(start, len(shape))
    last = len(shape) if stop is None else stop + len(shape) if stop < 0 else stop
    return (*shape[:first], product(shape[first:last]), *shape[last:])


def _along(args: Arguments) -> Value:
    axis = args.axes("axis", 0)
    if type(axis) is int:
        reduce(args.array.shape, axis)
    return Value(args.array.shape, args.array.dtype)


def _lax_split(args: Arguments) -> Value:
    sizes, axis = known(args.sizes("sizes")), args.axes("axis", 0)
    if sizes is None or type(axis) is not int:
        return ANYTHING
    shape = args.array.shape
    return several(
        *[
            Value(change_axis(shape, axis, lambda _, size=size: (size,)), args.array.dtype)
            for size in sizes
        ]
    )


def _pad(args: Arguments) -> Shape:
    shape, config = known(args.array.shape), constant_of(args["padding_config"])
    if shape is None:
        return None
    if not isinstance(config, tuple) or len(config) != len(shape):
        return (None,) * len(shape)
    return tuple(_padded(dim, each) for dim, each in zip(shape, config, strict=True))


def _padded(dim: Dim, config: object) -> Dim:
    if not isinstance(config, tuple) or len(config) != 3 or not all(type(x) is int for x in config):
        return None
    low, high, interior = config
    if type(dim) is not int:
        return None if interior else sub(dim, -(low + high))
    return max(dim + low + high + max(dim - 1, 0) * interior, 0)


def _sort_key_val(args: Arguments) -> Value:
    return several(*(Value(args[name].shape, args[name].dtype) for name in ("keys", "values")))


def _per_device(args: Arguments) -> Value:
    """A collective over one array; over a tree of them nothing is said."""
    return Value(args.array.shape, args.array.dtype)


def _gathered(args: Arguments) -> Shape:
    """What all lanes have, side by side; how many lanes there are is not told here."""
    axis = args.axes("axis", 0)
    if type(axis) is not int or args.flag("tiled") is not False:
        return None
    return insert_axis(args.array.shape, axis, None)


def _mean_per_device(args: Arguments) -> Value:
    return Value(args.array.shape, inexact(args.array.dtype))


def _table() -> Table:
    window = "operand, start_index, slice_size, axis, *, allow_negative_indices"
    update = "operand, update, start_index, axis, *, allow_negative_indices"
    rows: list[tuple[str, str, Rule]] = [
        (UNARY, "x", pointwise(kept)),
        (ACCURATE, "x, accuracy", pointwise(inexact)),
        ("abs real imag", "x", pointwise(real)),
        (BINARY, "x, y", pointwise(promote, 2)),
        ("igamma igammac", "a, x", pointwise(promote, 2)),
        ("zeta", "x, q", pointwise(promote, 2)),
        (COMPARISONS, "x, y", pointwise(truth, 2)),
        ("is_finite", "x", pointwise(truth)),
        ("conj", "x", pointwise(lambda _: "complex64")),
        ("integer_pow", "x, y", pointwise(kept)),
        ("round", "x, rounding_method", pointwise(kept)),
        ("reduce_precision", "operand, exponent_bits, mantissa_bits", pointwise(kept)),
        ("complex", "x, y", pointwise(_complex, 2)),
        ("betainc", "a, b, x", pointwise(promote, 3)),
        ("polygamma", "m, x", pointwise(promote, 2)),
        ("igamma_grad_a", "a, x", pointwise(promote, 2)),
        ("nextafter", "x1, x2", pointwise(promote, 2)),
        ("reduce_sum reduce_max reduce_min reduce_prod", "operand, axes", same_type(_reduced)),
        ("reduce_and reduce_or reduce_xor", "operand, axes", same_type(_reduced)),
        (
            "reduce",
            "operands, init_values, computation, dimensions",
            same_type(lambda args: _reduced(args, "dimensions")),
        ),
        ("argmax argmin", "operand, axis, index_dtype", _argmax),
        ("select", "pred, on_true, on_false", _select),
        ("select_n", "which, *cases", _select_n),
        ("clamp", "min, x, max", _clamp),
        ("cumsum cumprod cummax cummin cumlogsumexp", "operand, axis, reverse", _along),
        ("top_k", "operand, k, *, axis", TOP_K),
        ("approx_max_k approx_min_k", "operand, k, reduction_dimension", _approximate_top),
        ("sort", "operand, dimension, is_stable, num_keys", unchanged),
        ("sort_key_val", "keys, values, dimension, is_stable", _sort_key_val),
        ("rev", "operand, dimensions", unchanged),
        (
            "concatenate",
            "operands, dimension",
            joined_along(joining.concatenate, "operands", "dimension", None),
        ),
        ("split", "operand, sizes, axis", _lax_split),
        ("reshape", "operand, new_sizes, dimensions, *, out_sharding", reshaped("new_sizes")),
        ("transpose", "operand, permutation", same_type(_transposed)),
        ("expand_dims", "array, dimensions", expanded("dimensions")),
        ("squeeze", "array, dimensions", squeezed("dimensions")),
        ("collapse", "operand, start_dimension, stop_dimension", same_type(_collapse)),
        ("tile", "operand, reps", same_type(_tile)),
        ("broadcast", "operand, sizes, *, out_sharding", same_type(_broadcast)),
        (
            "broadcast_in_dim",
            "operand, shape, broadcast_dimensions, *, out_sharding",
            same_type(lambda args: args.sizes("shape")),
        ),
        ("broadcasted_iota", "dtype, shape, dimension, *, out_sharding", _filled),
        ("iota", "dtype, size", _iota),
        ("full", "shape, fill_value, dtype, *, sharding", _filled),
        ("full_like", "x, fill_value, dtype, shape, sharding", like),
        ("convert_element_type", "operand, new_dtype", cast("new_dtype")),
        (
            "dynamic_slice",
            "operand, start_indices, slice_sizes, *, allow_negative_indices",
            same_type(_dynamic_slice),
        ),
        ("dynamic_slice_in_dim", window, _resized("slice_size")),
        (
            "dynamic_index_in_dim",
            "operand, index, axis, keepdims, *, allow_negative_indices",
            same_type(_indexed),
        ),
        ("index_in_dim", "operand, index, axis, keepdims", same_type(_indexed)),
        (
            "dynamic_update_slice",
            "operand, update, start_indices, *, allow_negative_indices",
            unchanged,
        ),
        ("dynamic_update_slice_in_dim", update, unchanged),
        (
            "dynamic_update_index_in_dim",
            "operand, update, index, axis, *, allow_negative_indices",
            unchanged,
        ),
        (
            "scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max",
            "operand, scatter_indices, updates, dimension_numbers",
            unchanged,
        ),
        ("slice", "operand, start_indices, limit_indices, strides", same_type(_slice)),
        (
            "slice_in_dim",
            "operand, start_index, limit_index, stride, axis",
            same_type(_slice_in_dim),
        ),
        ("ragged_dot", "lhs, rhs, group_sizes, precision, preferred_element_type", _ragged_dot),
        ("pad", "operand, padding_value, padding_config", same_type(_pad)),
        ("psum pmax pmin", "x, axis_name, *, axis_index_groups", _per_device),
        ("pmean", "x, axis_name, *, axis_index_groups", _mean_per_device),
        ("ppermute", "x, axis_name, perm", _per_device),
        ("all_gather", "x, axis_name, *, axis_index_groups, axis, tiled", same_type(_gathered)),
        ("with_sharding_constraint", "x, shardings", unchanged),
        ("optimization_barrier", "operand", unchanged),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries("jax.lax", names, signature, rule))
    return table


TABLE: Table = _table()
