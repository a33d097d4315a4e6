"""Functions that arrange axes and elements anew."""

from __future__ import annotations

from collections.abc import Callable

from .. import axes as moves
from ..creation import diag, diagonal
from ..reshaping import element_count, flatten, reshape
from ..shape import Shape, known, rank
from ..values import UNKNOWN, Arg, Value
from .arguments import Arguments, constant_of, sizes_of
from .entries import Rule, Table, entries, function


def same_type(shape: Callable[[Arguments], Shape]) -> Rule:
    """A rule for functions that keep the type."""

    def rule(args: Arguments) -> Value:
        return Value(shape(args), args.array.dtype)

    return rule


def unchanged(args: Arguments) -> Value:
    """An array of the same shape and type."""
    return Value(args.array.shape, args.array.dtype)


def reshaped(name: str) -> Rule:
    """A rule for `reshape(a, shape)`, where the parameter of the new shape has this name."""
    return same_type(lambda args: _reshape(args.array.shape, args.sizes(name)))


def _reshape(shape: Shape, new: Shape) -> Shape:
    return reshape(shape, new) if isinstance(new, tuple) else None


def spread(args: Arguments) -> Arg:
    """The argument of methods that take sizes or axes as one tuple or one by one."""
    return args.rest[0] if len(args.rest) == 1 else Value(elements=_values(args.rest))


def _values(items: tuple[Arg, ...]) -> tuple[Value, ...]:
    return tuple(Value(item.shape, item.dtype, constant_of(item)) for item in items)


def _reshape_method(args: Arguments) -> Value:
    return Value(_reshape(args.array.shape, sizes_of(spread(args))), args.array.dtype)


def _order(value: object) -> tuple[int, ...] | None:
    """Axes, if all are known."""
    if isinstance(value, tuple) and all(type(axis) is int for axis in value):
        return value
    return None


def _transpose(args: Arguments) -> Shape:
    if not args.given("axes"):
        return moves.transpose(args.array.shape)
    return _transposed(args.array.shape, constant_of(args["axes"]))


def _transposed(shape: Shape, axes: object) -> Shape:
    order = _order(axes)
    if order is not None:
        return moves.transpose(shape, order)
    axes_known = rank(shape)
    return (None,) * axes_known if axes_known is not None else None


def _transpose_method(args: Arguments) -> Value:
    if not args.rest or spread(args).constant is None:
        shape = moves.transpose(args.array.shape)
    else:
        shape = _transposed(args.array.shape, constant_of(spread(args)))
    return Value(shape, args.array.dtype)


def _pair_of_axes(move: Callable[..., Shape], first: str, second: str) -> Rule:
    def shape(args: Arguments) -> Shape:
        source, goal = args.axes(first), args.axes(second)
        if source is None or goal is None or source is UNKNOWN or goal is UNKNOWN:
            axes_known = rank(args.array.shape)
            return (None,) * axes_known if axes_known is not None else None
        return move(args.array.shape, source, goal)

    return same_type(shape)


def expanded(name: str) -> Rule:
    """A rule for `expand_dims`."""

    def shape(args: Arguments) -> Shape:
        axis = args.axes(name)
        return (
            None if axis is None or axis is UNKNOWN else moves.expand_dims(args.array.shape, axis)
        )

    return same_type(shape)


def squeezed(name: str) -> Rule:
    """A rule for `squeeze`."""

    def shape(args: Arguments) -> Shape:
        axis = args.axes(name)
        return None if axis is UNKNOWN else moves.squeeze(args.array.shape, axis)

    return same_type(shape)


def _offset(args: Arguments, name: str) -> int | None:
    offset = args.integer(name, 0)
    return offset if type(offset) is int else None


def _diagonal(args: Arguments) -> Shape:
    shape = known(args.array.shape)
    first, second = args.integer("axis1", 0), args.integer("axis2", 1)
    if shape is None or type(first) is not int or type(second) is not int:
        return None
    return diagonal(shape, _offset(args, "offset"), first, second)


def _turned(args: Arguments) -> Shape:
    """A plane turned by right angles: its sides change places every other time."""
    turns, axes = args.integer("k", 1), args.axes("axes", (0, 1))
    if type(turns) is not int or not isinstance(axes, tuple) or len(axes) != 2:
        return None
    return moves.swapaxes(args.array.shape, *axes) if turns % 2 else args.array.shape


def _rolled(args: Arguments) -> Shape:
    axis, start, count = args.integer("axis", 0), args.integer("start", 0), rank(args.array.shape)
    if type(axis) is not int or type(start) is not int or count is None:
        return None
    axis, start = axis % count, start + count if start < 0 else start
    return moves.moveaxis(args.array.shape, axis, start - (axis < start))


def _diagflat(args: Arguments) -> Shape:
    return diag((element_count(args.array.shape),), _offset(args, "k"))


def _table() -> Table:
    module = "jax.numpy"
    flat = same_type(lambda args: flatten(args.array.shape))
    transposed = same_type(lambda args: moves.matrix_transpose(args.array.shape))
    rows: list[tuple[str, str, Rule]] = [
        ("reshape", "a, shape, order, *, copy, out_sharding", reshaped("shape")),
        ("ravel", "a, order, *, out_sharding", flat),
        ("transpose permute_dims", "a, axes", same_type(_transpose)),
        ("matrix_transpose linalg.matrix_transpose", "x", transposed),
        ("swapaxes", "a, axis1, axis2", _pair_of_axes(moves.swapaxes, "axis1", "axis2")),
        (
            "moveaxis",
            "a, source, destination",
            _pair_of_axes(moves.moveaxis, "source", "destination"),
        ),
        ("expand_dims", "a, axis", expanded("axis")),
        ("squeeze", "a, axis", squeezed("axis")),
        ("diag", "v, k", same_type(lambda args: diag(args.array.shape, _offset(args, "k")))),
        ("diagflat", "v, k", same_type(_diagflat)),
        ("diagonal", "a, offset, axis1, axis2", same_type(_diagonal)),
        ("flip", "m, axis", unchanged),
        ("fliplr flipud", "m", unchanged),
        ("rot90", "m, k, axes", same_type(_turned)),
        ("rollaxis", "a, axis, start", same_type(_rolled)),
        ("roll", "a, shift, axis", unchanged),
        ("tril triu", "m, k", unchanged),
        ("copy", "a, order", unchanged),
        ("fill_diagonal", "a, val, wrap, *, inplace", unchanged),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries(module, names, signature, rule))
    table["ndarray.reshape"] = function("self, *sizes, order, out_sharding", _reshape_method)
    table["ndarray.transpose"] = function("self, *args", _transpose_method)
    table["ndarray.T"] = function("self", same_type(lambda args: moves.transpose(args.array.shape)))
    table["ndarray.mT"] = function("self", transposed)
    return table


TABLE: Table = _table()
