"""Functions that make arrays from sizes, numbers or lists."""

from __future__ import annotations

from ..creation import arange, eye
from ..dims import Dim, Size
from ..dtypes import DType, inexact, of_literal, promote, strong
from ..joining import stack
from ..shape import Mismatch, Shape, broadcast, known, least_rank
from ..values import ANYTHING, UNKNOWN, Arg, Value, several
from .arguments import Arguments, number_of
from .entries import Rule, Table, entries, function


def filled(args: Arguments) -> Value:
    """`zeros(shape)` and its like: float32 unless asked otherwise."""
    return Value(args.sizes("shape"), args.dtype("dtype", "float32"))


def _full(args: Arguments) -> Value:
    dtype = args.dtype("dtype", args["fill_value"].dtype)
    return Value(args.sizes("shape"), dtype)


def like(args: Arguments) -> Value:
    """`zeros_like(a)` and its like."""
    shape = args.sizes("shape") if args.given("shape") else args.array.shape
    return Value(shape, args.dtype("dtype", args.array.dtype))


def converted(args: Arguments) -> Value:
    """`asarray(x)`: an array of what a number, a list or an array holds."""
    shape, dtype = contents(args.array)
    least = args.integer("ndmin", 0)
    if type(least) is not int:
        shape = None
    elif least_rank(shape) < least:
        shape = (1,) * (least - len(shape)) + shape if isinstance(shape, tuple) else None
    return Value(shape, args.dtype("dtype", dtype))


def contents(arg: Arg) -> tuple[Shape, DType]:
    """The shape and type of an array made of a number or nested lists."""
    if arg.elements is not None:
        parts = [contents(element) for element in arg.elements]
        if not parts:
            return (0,), "float32"
        try:
            shape = stack([part[0] for part in parts])
        except Mismatch:
            # NumPy's complaint about ragged lists; generators of rows are not understood so well.
            shape = None
        return shape, strong(promote(*[part[1] for part in parts]))
    if arg.shape is not None or arg.dtype is not None:
        return arg.shape, arg.dtype
    return _of_constant(arg.constant)


def _of_constant(constant: object) -> tuple[Shape, DType]:
    if isinstance(constant, (tuple, list)):
        items: list[Value] = []
        for item in constant:
            shape, dtype = _of_constant(item)
            items.append(Value(shape, dtype))
        return contents(Value(elements=tuple(items)))
    if isinstance(constant, Size):
        return (), "int32*"
    dtype = of_literal(constant)
    return ((), dtype) if dtype is not None else (None, None)


def _arange(args: Arguments) -> Value:
    given = [args[name] for name in ("start", "stop", "step") if args.given(name)]
    dtype = args.dtype("dtype", strong(promote(*[number.dtype for number in given])))
    numbers = [number_of(number) for number in given]
    if not given or any(number is None for number in numbers):
        return Value((None,), dtype)
    by_name = {
        name: number_of(args[name]) for name in ("start", "stop", "step") if args.given(name)
    }
    if "start" not in by_name:
        return Value((None,), dtype)
    return Value(arange(by_name["start"], by_name.get("stop"), by_name.get("step")), dtype)


def _linspace(args: Arguments) -> Value:
    count: Dim = args.size("num") if "num" in args.bound else 50
    ends = broadcast(args["start"].shape, args["stop"].shape)
    default = inexact(promote(args["start"].dtype, args["stop"].dtype))
    dtype = args.dtype("dtype", strong(default))
    axis = args.integer("axis", 0)
    whole = known(ends)
    shape: Shape = None
    if whole is not None and axis in (0, -1):
        shape = (count, *whole) if axis == 0 else (*whole, count)
    values = Value(shape, dtype)
    step = args.flag("retstep")
    if step is UNKNOWN:
        return ANYTHING
    return several(values, Value(ends, dtype)) if step else values


def _eye(args: Arguments) -> Value:
    rows = args.size("N")
    columns = args.size("M") if args.given("M") else rows
    return Value((rows, columns), args.dtype("dtype", "float32"))


def _identity(args: Arguments) -> Value:
    return Value(eye(args.size("n")), args.dtype("dtype", "float32"))


def _window(args: Arguments) -> Value:
    return Value((args.size("M"),), "float32")


def _indices(args: Arguments) -> Value:
    dims = args.sizes("dimensions")
    dtype = args.dtype("dtype", "int32")
    if not isinstance(dims, tuple) or args.flag("sparse") is not False:
        return ANYTHING
    return Value((len(dims), *dims), dtype)


def _triangle_indices(_: Arguments) -> Value:
    return several(Value((None,), "int32"), Value((None,), "int32"))


def _diag_indices(args: Arguments) -> Value:
    count = args.integer("ndim", 2)
    if type(count) is not int:
        return ANYTHING
    return several(*[Value((args.size("n"),), "int32")] * count)


def cast(name: str) -> Rule:
    """A rule for `astype` and its like: the type that the parameter of this name says."""

    def rule(args: Arguments) -> Value:
        return Value(args.array.shape, args.dtype(name, "float32"))

    return rule


def _shape(args: Arguments) -> Value:
    shape = known(args.array.shape)
    if shape is None:
        return ANYTHING
    return Value(constant=tuple(UNKNOWN if dim is None else dim for dim in shape))


def _ndim(args: Arguments) -> Value:
    shape = known(args.array.shape)
    return ANYTHING if shape is None else Value((), "int32*", len(shape))


def _vander(args: Arguments) -> Value:
    shape = known(args.array.shape)
    if shape is None or len(shape) != 1:
        return Value((None, None), args.array.dtype)
    columns = args.size("N") if args.given("N") else shape[0]
    return Value((shape[0], columns), args.array.dtype)


def _table() -> Table:
    module = "jax.numpy"
    device = "*, device, out_sharding"
    rows: list[tuple[str, str, Rule]] = [
        ("zeros ones empty", f"shape, dtype, {device}", filled),
        ("full", f"shape, fill_value, dtype, {device}", _full),
        ("zeros_like ones_like", f"a, dtype, shape, {device}", like),
        ("empty_like", "prototype, dtype, shape, *, device", like),
        ("full_like", f"a, fill_value, dtype, shape, {device}", like),
        ("array", "object, dtype, copy, order, ndmin, *, device, out_sharding", converted),
        ("asarray", "a, dtype, order, *, copy, device, out_sharding", converted),
        ("arange", f"start, stop, step, dtype, {device}", _arange),
        ("linspace", "start, stop, num, endpoint, retstep, dtype, axis, *, device", _linspace),
        ("logspace", "start, stop, num, endpoint, base, dtype, axis", _linspace),
        ("geomspace", "start, stop, num, endpoint, dtype, axis", _linspace),
        ("eye", "N, M, k, dtype, *, device", _eye),
        ("tri", "N, M, k, dtype", _eye),
        ("identity", "n, dtype", _identity),
        ("bartlett blackman hamming hanning", "M", _window),
        ("kaiser", "M, beta", _window),
        ("indices", "dimensions, dtype, sparse", _indices),
        ("tril_indices triu_indices", "n, k, m", _triangle_indices),
        ("tril_indices_from triu_indices_from", "arr, k", _triangle_indices),
        ("diag_indices", "n, ndim", _diag_indices),
        ("astype", "x, dtype, *, copy, device", cast("dtype")),
        ("shape", "a", _shape),
        ("ndim", "a", _ndim),
        ("vander", "x, N, increasing", _vander),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries(module, names, signature, rule))
    table["ndarray.astype"] = function("self, dtype, copy, device", cast("dtype"))
    return table


TABLE: Table = _table()
