"""Functions that take away axes, or run along one."""

from __future__ import annotations

from collections.abc import Callable

from ..dims import Dim, add, mul, sub
from ..dtypes import DType, inexact, promote, summed
from ..reshaping import flatten
from ..shape import Axes, Shape, broadcast, change_axis, rank, reduce
from ..values import ANYTHING, UNKNOWN, Value, several
from .arguments import Arguments
from .entries import Rule, Table, entries, function
from .pointwise import kept, real_inexact, truth


def reduced(args: Arguments, default: Axes = None) -> Shape:
    """The shape that is left, as `axis` and `keepdims` say."""
    axes, keepdims = args.axes("axis", default), args.flag("keepdims")
    shape = args.array.shape
    if axes is UNKNOWN:
        dims = rank(shape)
        return (None,) * dims if keepdims is True and dims is not None else None
    if keepdims is UNKNOWN:
        return None
    return reduce(shape, axes, keepdims)


def reduction(dtype: Callable[[DType], DType]) -> Rule:
    """A rule for reductions; `dtype` says the type unless the argument of that name does."""

    def rule(args: Arguments) -> Value:
        return Value(reduced(args), args.dtype("dtype", dtype(args.array.dtype)))

    return rule


def _index_type(_: DType) -> DType:
    return "int32"


def _quantile(args: Arguments) -> Value:
    rest, q = reduced(args), args["q"].shape
    dtype = inexact(promote(args.array.dtype, args["q"].dtype))
    if not isinstance(rest, tuple) or not isinstance(q, tuple):
        return Value(None, dtype)
    return Value(q + rest, dtype)


def _average(args: Arguments) -> Value:
    weights = args["weights"].dtype if args.given("weights") else "bool"
    mean = Value(reduced(args), inexact(promote(args.array.dtype, weights)))
    returned = args.flag("returned")
    return mean if returned is False else several(mean, mean) if returned is True else ANYTHING


def _count(args: Arguments) -> Value:
    return Value(reduced(args), "int32")


def _scalar_truth(_: Arguments) -> Value:
    return Value((), "bool")


def along(dtype: Callable[[DType], DType]) -> Rule:
    """A rule for functions that keep the shape, flattened if `axis` is None."""

    def rule(args: Arguments) -> Value:
        axis, shape = args.axes("axis"), args.array.shape
        wanted = args.dtype("dtype", dtype(args.array.dtype))
        if axis is UNKNOWN:
            return Value(None, wanted)
        if axis is None:
            return Value(flatten(shape), wanted)
        return Value(_checked(shape, axis), wanted)

    return rule


def _checked(shape: Shape, axis: int | tuple[int, ...]) -> Shape:
    """The shape itself, once it has this axis."""
    reduce(shape, axis)
    return shape


def along_last(dtype: Callable[[DType], DType], default: int = -1) -> Rule:
    """The same, where the default is an axis."""

    def rule(args: Arguments) -> Value:
        axis, shape = args.axes("axis", default), args.array.shape
        if axis is None:
            return Value(flatten(shape), dtype(args.array.dtype))
        if axis is UNKNOWN:
            return Value(None, dtype(args.array.dtype))
        return Value(_checked(shape, axis), dtype(args.array.dtype))

    return rule


def _accumulated(dtype: DType) -> DType:
    """Unlike a sum, which widens, a running one only counts what is true."""
    return "int32" if dtype == "bool" else dtype


def _cumulative_initial(args: Arguments) -> Value:
    dtype = args.dtype("dtype", summed(args.array.dtype))
    axis, initial = args.axes("axis"), args.flag("include_initial")
    shape = args.array.shape
    if axis is None and rank(shape) == 1:
        axis = 0
    if type(axis) is not int or initial is UNKNOWN:
        return Value(None, dtype)
    more: Dim = 1 if initial else 0
    return Value(change_axis(shape, axis, lambda dim: (add(dim, more),)), dtype)


def _diff(args: Arguments) -> Value:
    times, axis = args.integer("n", 1), args.axes("axis", -1)
    dtype = "bool" if args.array.dtype == "bool" else args.array.dtype
    if type(times) is not int or type(axis) is not int:
        return Value(None, dtype)
    if args.given("prepend") or args.given("append"):
        return Value(change_axis(args.array.shape, axis, lambda _: (None,)), dtype)
    return Value(change_axis(args.array.shape, axis, lambda dim: (_less(dim, times),)), dtype)


def _less(dim: Dim, by: int) -> Dim:
    left = sub(dim, by)
    return max(left, 0) if type(left) is int else left


def trapezoid(args: Arguments) -> Value:
    """An integral along an axis, over what one or several lists of places say."""
    axis, shape = args.axes("axis", -1), args.array.shape
    places = args["x"] if args.given("x") else Value((), "bool")
    dtype = inexact(promote(args.array.dtype, places.dtype))
    if type(axis) is not int or rank(places.shape) not in (0, 1):
        return Value(None, dtype)
    return Value(change_axis(shape, axis, lambda _: ()), dtype)


def _norm(args: Arguments) -> Value:
    dtype = real_inexact(args.array.dtype)
    shape, axis = args.array.shape, args.axes("axis")
    if axis is None and args.given("ord") and rank(shape) not in (1, 2):
        return Value(None, dtype)
    return Value(reduced(args), dtype)


def _logsumexp(args: Arguments) -> Value:
    dtype = inexact(args.array.dtype)
    shape = reduced(args)
    if args.given("b"):
        dtype = inexact(promote(args.array.dtype, args["b"].dtype))
        if broadcast(args.array.shape, args["b"].shape) != args.array.shape:
            shape = None
    sign = args.flag("return_sign")
    result = Value(shape, dtype)
    return result if sign is False else several(result, result) if sign is True else ANYTHING


def _trace(args: Arguments) -> Value:
    axes = (args.integer("axis1", 0), args.integer("axis2", 1))
    dtype = args.dtype("dtype", summed(args.array.dtype))
    first, second = axes
    if type(first) is not int or type(second) is not int:
        return Value(None, dtype)
    return Value(reduce(args.array.shape, (first, second)), dtype)


def _packed(factor: int) -> Rule:
    def rule(args: Arguments) -> Value:
        axis = args.axes("axis")
        if type(axis) is not int or factor == 0 or args.given("count"):
            return Value(None, "uint8")
        shape = args.array.shape
        return Value(change_axis(shape, axis, lambda dim: (mul(dim, factor),)), "uint8")

    return rule


_SUM = "a, axis, dtype, out, keepdims, initial, where"
_MAX = "a, axis, out, keepdims, initial, where"
_VAR = "a, axis, dtype, out, ddof, keepdims"
_QUANTILE = "a, q, axis, out, overwrite_input, method, keepdims"
_CUMULATIVE = "a, axis, dtype, out"


def _table() -> Table:
    module = "jax.numpy"
    first = "a, axis, out, keepdims"
    return {
        **dict(entries(module, "sum prod", f"{_SUM}, promote_integers", reduction(summed))),
        **dict(entries(module, "nansum nanprod", _SUM, reduction(summed))),
        **dict(entries(module, "max min amax amin nanmax nanmin", _MAX, reduction(kept))),
        **dict(entries(module, "all any", f"{first}, *, where", reduction(truth))),
        **dict(entries(module, "ptp", first, reduction(kept))),
        **dict(entries(module, "argmax argmin nanargmax nanargmin", first, reduction(_index_type))),
        **dict(
            entries(module, "mean", "a, axis, dtype, out, keepdims, *, where", reduction(inexact))
        ),
        **dict(
            entries(module, "nanmean", "a, axis, dtype, out, keepdims, where", reduction(inexact))
        ),
        **dict(
            entries(
                module, "std var", f"{_VAR}, *, where, mean, correction", reduction(real_inexact)
            )
        ),
        **dict(entries(module, "nanstd nanvar", f"{_VAR}, where, mean", reduction(real_inexact))),
        **dict(
            entries(
                module,
                "median nanmedian",
                "a, axis, out, overwrite_input, keepdims",
                reduction(inexact),
            )
        ),
        **dict(
            entries(module, "quantile percentile nanquantile nanpercentile", _QUANTILE, _quantile)
        ),
        **dict(entries(module, "count_nonzero", "a, axis, keepdims", _count)),
        **dict(entries(module, "average", "a, axis, weights, returned, keepdims", _average)),
        **dict(entries(module, "allclose", "a, b, rtol, atol, equal_nan", _scalar_truth)),
        **dict(entries(module, "array_equal", "a1, a2, equal_nan", _scalar_truth)),
        **dict(entries(module, "array_equiv", "a1, a2", _scalar_truth)),
        **dict(
            entries(module, "cumsum cumprod nancumsum nancumprod", _CUMULATIVE, along(_accumulated))
        ),
        **dict(
            entries(
                module,
                "cumulative_sum cumulative_prod",
                "x, *, axis, dtype, include_initial",
                _cumulative_initial,
            )
        ),
        **dict(
            entries(module, "sort", "a, axis, *, kind, order, stable, descending", along_last(kept))
        ),
        **dict(
            entries(
                module,
                "argsort",
                "a, axis, *, kind, order, stable, descending, dtype",
                along_last(_index_type),
            )
        ),
        **dict(entries(module, "partition", "a, kth, axis", along_last(kept))),
        **dict(entries(module, "argpartition", "a, kth, axis", along_last(_index_type))),
        **dict(entries(module, "unwrap", "p, discont, axis, period", along_last(inexact))),
        "jax.numpy.diff": function("a, n, axis, prepend, append", _diff),
        "jax.numpy.trapezoid": function("y, x, dx, axis", trapezoid),
        "jax.numpy.trace": function("a, offset, axis1, axis2, dtype, out", _trace),
        "jax.numpy.packbits": function("a, axis, bitorder", _packed(0)),
        "jax.numpy.unpackbits": function("a, axis, count, bitorder", _packed(8)),
        "jax.numpy.linalg.norm": function("x, ord, axis, keepdims", _norm),
        "jax.numpy.linalg.vector_norm": function(
            "x, *, axis, keepdims, ord", reduction(real_inexact)
        ),
        "jax.scipy.special.logsumexp": function(
            "a, axis, b, keepdims, return_sign, where", _logsumexp
        ),
        "jax.nn.logsumexp": function("a, axis, b, keepdims, return_sign, where", _logsumexp),
        "jax.nn.logmeanexp": function("x, axis, where, keepdims", reduction(inexact)),
    }


TABLE: Table = _table()
