"""Functions that put arrays together, cut them apart, repeat and spread them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import axes as moves
from .. import joining
from ..dims import Dim, Size, add, sub
from ..dtypes import DType, promote
from ..reshaping import element_count
from ..shape import Shape, broadcast, broadcast_to, change_axis, known, rank
from ..values import ANYTHING, UNKNOWN, Arg, Value, several
from .arguments import Arguments, constant_of, sizes_of
from .entries import Rule, Table, entries
from .rearranging import same_type


def _joined(join: Callable[[list[Shape]], Shape], name: str) -> Rule:
    def rule(args: Arguments) -> Value:
        items = args.sequence(name)
        if items is None:
            return Value(None, args.dtype("dtype", args[name].dtype))
        dtype = args.dtype("dtype", promote(*[item.dtype for item in items]))
        return Value(join([item.shape for item in items]), dtype)

    return rule


def joined_along(join: Callable[..., Shape], name: str, axis: str, default: int | None = 0) -> Rule:
    """A rule for functions that join a sequence of arrays along an axis."""

    def rule(args: Arguments) -> Value:
        at = args.axes(axis, default)
        if at is UNKNOWN or isinstance(at, tuple):
            return _joined(lambda _: None, name)(args)
        return _joined(lambda shapes: join(shapes, at), name)(args)

    return rule


def _stacked(args: Arguments) -> Value:
    """What is stacked: arrays of a list, or as many alike as a list is long."""
    at, shape = args.axes("axis", 0), args["arrays"].shape
    if args.sequence("arrays") is None and isinstance(shape, tuple) and shape and type(at) is int:
        dtype = args.dtype("dtype", args["arrays"].dtype)
        return Value(moves.insert_axis(shape[1:], at, shape[0]), dtype)
    return joined_along(joining.stack, "arrays", "axis")(args)


def _append(args: Arguments) -> Value:
    axis = args.axes("axis")
    arrays = [args["arr"], args["values"]]
    dtype = promote(*[array.dtype for array in arrays])
    if axis is UNKNOWN or isinstance(axis, tuple):
        return Value(None, dtype)
    return Value(joining.concatenate([array.shape for array in arrays], axis), dtype)


def _insert(args: Arguments) -> Value:
    """One place gets as many elements as there are values, without an axis, and else a row."""
    array, values, axis = args["arr"], args["values"], args.axes("axis")
    if type(args["obj"].constant) is not int or axis is UNKNOWN or isinstance(axis, tuple):
        return Value(None, array.dtype)
    if axis is None:
        return Value(joining.concatenate([array.shape, values.shape], None), array.dtype)
    given, own = rank(values.shape), rank(array.shape)
    is_row = given is not None and own is not None and given < own
    return Value(
        change_axis(array.shape, axis, lambda dim: (add(dim, 1) if is_row else None,)), array.dtype
    )


def _delete(args: Arguments) -> Shape:
    """One place less; how many others there are in a list of places may depend on doubles."""
    shape, axis = args.array.shape, args.axes("axis")
    if type(args["obj"].constant) is not int or axis is UNKNOWN or isinstance(axis, tuple):
        return None
    flat = (element_count(shape),) if axis is None else shape
    return change_axis(flat, axis or 0, lambda dim: (sub(dim, 1),))


def split_along(fixed: int | None = None, exact: bool = True) -> Rule:
    """A rule for `split`, or one of its relatives with a fixed axis."""

    def rule(args: Arguments) -> Value:
        axis = fixed if fixed is not None else args.axes("axis", 0)
        sections = constant_of(args["indices_or_sections"])
        shape = args.array.shape
        if fixed == 1 and rank(shape) == 1:
            axis = 0
        if type(axis) is not int or not (type(sections) is int or isinstance(sections, tuple)):
            return ANYTHING
        cuts = sections if type(sections) is int else sizes_of(args["indices_or_sections"])
        if cuts is None or not isinstance(cuts, (int, tuple)):
            return ANYTHING
        parts = joining.split(shape, cuts, axis, exact)
        return several(*[Value(part, args.array.dtype) for part in parts])

    return rule


def unstacked(args: Arguments) -> Value:
    """The slices along an axis, if it is known how many."""
    axis, shape = args.axes("axis", 0), known(args.array.shape)
    if type(axis) is not int or shape is None:
        return ANYTHING
    rest = moves.remove_axis(shape, axis)
    count = shape[axis]
    if type(count) is not int or count > 256:
        return ANYTHING
    return several(*[Value(rest, args.array.dtype)] * count)


def _tile(args: Arguments) -> Shape:
    reps = args.sizes("reps")
    return joining.tile(args.array.shape, reps) if isinstance(reps, tuple) else None


def _repeat(args: Arguments) -> Shape:
    axis = args.axes("axis")
    if axis is UNKNOWN or isinstance(axis, tuple):
        return None
    repeats = args["repeats"].constant
    if args.given("total_repeat_length"):
        length = args.size("total_repeat_length")
        if axis is None:
            return (length,)
        return change_axis(args.array.shape, axis, lambda _: (length,))
    times: Dim = repeats if type(repeats) is int or isinstance(repeats, Size) else None
    return joining.repeat(args.array.shape, times, axis)


def _pad(args: Arguments) -> Shape:
    widths, shape = constant_of(args["pad_width"]), known(args.array.shape)
    if shape is None:
        return None
    pairs = _pad_pairs(widths)
    return (None,) * len(shape) if pairs is None else joining.pad(shape, pairs)


def _pad_pairs(widths: object) -> list[tuple[Dim, Dim]] | None:
    """The pairs that `2`, `(2,)`, `(1, 2)` and `((0, 1), (2, 3))` mean."""
    if type(widths) is int or isinstance(widths, Size):
        return [(widths, widths)]
    if not isinstance(widths, tuple) or not widths:
        return None
    if not any(isinstance(width, tuple) for width in widths):
        first, last = _width(widths[0]), _width(widths[-1])
        return [(first, last)] if len(widths) <= 2 else None
    pairs: list[tuple[Dim, Dim]] = []
    for width in widths:
        if not isinstance(width, tuple) or not 1 <= len(width) <= 2:
            return None
        pairs.append((_width(width[0]), _width(width[-1])))
    return pairs


def _width(value: object) -> Dim:
    return value if type(value) is int or isinstance(value, Size) else None


def broadcast_rule(name: str) -> Rule:
    """A rule for `broadcast_to`."""
    return same_type(lambda args: broadcast_to(args.array.shape, args.sizes(name)))


def _broadcast_arrays(args: Arguments) -> Value:
    shape = broadcast(*[array.shape for array in args.rest])
    return several(*[Value(shape, array.dtype) for array in args.rest])


def _broadcast_shapes(args: Arguments) -> Value:
    shapes = [sizes_of(array) for array in args.rest]
    shape = known(broadcast(*shapes))
    if shape is None:
        return ANYTHING
    return Value(constant=tuple(UNKNOWN if dim is None else dim for dim in shape))


def _atleast(wanted: int) -> Rule:
    def rule(args: Arguments) -> Value:
        raised = [Value(joining.atleast(item.shape, wanted), item.dtype) for item in args.rest]
        return raised[0] if len(raised) == 1 else several(*raised)

    return rule


def _meshgrid(args: Arguments) -> Value:
    sizes: list[Dim] = [element_count(array.shape) for array in args.rest]
    indexing, sparse = args.constant("indexing", "xy"), args.flag("sparse")
    if not isinstance(indexing, str) or sparse is UNKNOWN:
        return ANYTHING
    places = list(range(len(sizes)))
    if indexing == "xy" and len(sizes) > 1:
        places[:2] = [1, 0]
    grid = [sizes[place] for place in places]
    shapes = [
        tuple(dim if at == places[each] else 1 for at, dim in enumerate(grid))
        if sparse
        else tuple(grid)
        for each in range(len(sizes))
    ]
    return several(
        *[Value(shape, array.dtype) for shape, array in zip(shapes, args.rest, strict=True)]
    )


def _block(args: Arguments) -> Value:
    """A list of blocks is joined along the last axis, a list of these along the one before."""
    depth = _nesting(args.array)
    shape = _joined_blocks(args.array, depth, depth) if 0 < depth <= 2 else None
    return Value(shape, promote(*_types(args.array)))


def _nesting(blocks: Arg) -> int:
    return 1 + max(map(_nesting, blocks.elements), default=0) if blocks.elements else 0


def _joined_blocks(blocks: Arg, level: int, depth: int) -> Shape:
    if blocks.elements is None:
        return joining.atleast(blocks.shape, depth)
    parts = [_joined_blocks(it, level - 1, depth) for it in blocks.elements]
    return joining.concatenate(parts, -level)


def _types(blocks: Arg) -> Iterator[DType]:
    for it in blocks.elements or ():
        yield from _types(it)
    if blocks.elements is None:
        yield blocks.dtype


def _table() -> Table:
    rows: list[tuple[str, str, Rule]] = [
        ("concatenate", "arrays, axis, dtype", joined_along(joining.concatenate, "arrays", "axis")),
        ("concat", "arrays, *, axis", joined_along(joining.concatenate, "arrays", "axis")),
        ("stack", "arrays, axis, out, dtype", _stacked),
        ("vstack", "tup, dtype", _joined(joining.vstack, "tup")),
        ("hstack", "tup, dtype", _joined(joining.hstack, "tup")),
        ("dstack", "tup, dtype", _joined(joining.dstack, "tup")),
        ("column_stack", "tup", _joined(joining.column_stack, "tup")),
        ("append", "arr, values, axis", _append),
        ("insert", "arr, obj, values, axis", _insert),
        ("delete", "arr, obj, axis", same_type(_delete)),
        ("block", "arrays", _block),
        ("split", "ary, indices_or_sections, axis", split_along()),
        ("array_split", "ary, indices_or_sections, axis", split_along(exact=False)),
        ("vsplit", "ary, indices_or_sections", split_along(0)),
        ("hsplit", "ary, indices_or_sections", split_along(1)),
        ("dsplit", "ary, indices_or_sections", split_along(2)),
        ("unstack", "x, *, axis", unstacked),
        ("tile", "A, reps", same_type(_tile)),
        ("repeat", "a, repeats, axis, *, total_repeat_length, out_sharding", same_type(_repeat)),
        ("pad", "array, pad_width, mode", same_type(_pad)),
        ("broadcast_to", "array, shape, *, out_sharding", broadcast_rule("shape")),
        ("broadcast_arrays", "*args", _broadcast_arrays),
        ("broadcast_shapes", "*shapes", _broadcast_shapes),
        ("atleast_1d", "*arys", _atleast(1)),
        ("atleast_2d", "*arys", _atleast(2)),
        ("atleast_3d", "*arys", _atleast(3)),
        ("meshgrid", "*xi, copy, sparse, indexing", _meshgrid),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries("jax.numpy", names, signature, rule))
    return table


TABLE: Table = _table()
