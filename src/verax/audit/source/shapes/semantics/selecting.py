"""Functions that select, search, sort and count."""

from __future__ import annotations

from ..dims import Dim, add
from ..dtypes import inexact, promote
from ..indexing import take, take_along_axis
from ..reshaping import element_count
from ..shape import Shape, broadcast, change_axis, known, rank
from ..values import ANYTHING, UNKNOWN, Value, several
from .arguments import Arguments, items_of, sizes_of
from .entries import Rule, Table, entries
from .pointwise import nonzero
from .rearranging import same_type, unchanged


def _take(args: Arguments) -> Shape:
    axis = args.axes("axis")
    if axis is UNKNOWN or isinstance(axis, tuple):
        return None
    return take(args.array.shape, args["indices"].shape, axis)


def _take_along_axis(args: Arguments) -> Shape:
    axis = args.axes("axis", -1)
    if axis is UNKNOWN or isinstance(axis, tuple):
        return None
    return take_along_axis(args.array.shape, args["indices"].shape, axis)


def _found(args: Arguments) -> Value:
    """As many as only running tells, unless `size` says it."""
    return Value((args.size("size"),), args.array.dtype)


def _found_indices(args: Arguments) -> Value:
    return Value((args.size("size"),), "int32")


def _argwhere(args: Arguments) -> Value:
    return Value((args.size("size"), rank(args.array.shape)), "int32")


def _compress(args: Arguments) -> Value:
    size, axis, shape = args.size("size"), args.axes("axis"), args["a"].shape
    if axis is None:
        return Value((size,), args["a"].dtype)
    if type(axis) is not int:
        return Value(None, args["a"].dtype)
    return Value(change_axis(shape, axis, lambda _: (size,)), args["a"].dtype)


def _extract(args: Arguments) -> Value:
    return Value((args.size("size"),), args["arr"].dtype)


def _unique(args: Arguments) -> Value:
    """The values, and as many arrays of indices as are asked for."""
    size, axis = args.size("size"), args.axes("axis")
    shape: Shape = (size,)
    if axis is not None:
        shape = None
        if type(axis) is int:
            shape = change_axis(args.array.shape, axis, lambda _: (size,))
    values = [Value(shape, args.array.dtype)]
    for name in ("return_index", "return_inverse", "return_counts"):
        wanted = args.flag(name)
        if wanted is UNKNOWN:
            return ANYTHING
        if wanted:
            inverse = name == "return_inverse"
            values.append(Value(None if inverse else (size,), "int32"))
    return values[0] if len(values) == 1 else several(*values)


def _set_of_two(args: Arguments) -> Value:
    if args.flag("return_indices") is not False:
        return ANYTHING
    return Value((args.size("size"),), promote(args["ar1"].dtype, args["ar2"].dtype))


def _bincount(args: Arguments) -> Value:
    dtype = args["weights"].dtype if args.given("weights") else "int32"
    return Value((args.size("length"),), dtype)


def _searchsorted(args: Arguments) -> Value:
    return Value(args["v"].shape, "int32")


def _digitize(args: Arguments) -> Value:
    return Value(args["x"].shape, "int32")


def _interp(args: Arguments) -> Value:
    dtype = inexact(promote(args["x"].dtype, args["xp"].dtype, args["fp"].dtype))
    return Value(args["x"].shape, dtype)


def _isin(args: Arguments) -> Value:
    return Value(args["element"].shape, "bool")


def _select(args: Arguments) -> Value:
    conditions, choices = args.sequence("condlist"), args.sequence("choicelist")
    if conditions is None or choices is None:
        return ANYTHING
    default = [args["default"]] if args.given("default") else []
    arrays = [*choices, *default]
    return Value(
        broadcast(*[each.shape for each in (*conditions, *arrays)]),
        promote(*[each.dtype for each in arrays]) if default else None,
    )


def _histogram(args: Arguments) -> Value:
    bins: Dim = None
    if "bins" not in args.bound:
        bins = 10
    elif args["bins"].shape == ():
        bins = args.size("bins")
    return several(Value((bins,), None), Value((add(bins, 1),), None))


def _cross(args: Arguments) -> Value:
    a, b = args.leading(2)
    dtype = promote(a.dtype, b.dtype)
    if a.shape == b.shape and rank(a.shape) and _last(a.shape) == 3 and len(args.bound) == 2:
        return Value(a.shape, dtype)
    return Value(None, dtype)


def _last(shape: Shape) -> Dim:
    whole = known(shape)
    return whole[-1] if whole else None


def _unravel(args: Arguments) -> Value:
    dims = known(sizes_of(args["shape"]))
    if dims is None:
        return ANYTHING
    return several(*[Value(args["indices"].shape, "int32")] * len(dims))


def _polyval(args: Arguments) -> Value:
    p = known(args["p"].shape)
    dtype = promote(args["p"].dtype, args["x"].dtype)
    return Value(args["x"].shape if p is not None and len(p) == 1 else None, dtype)


def _gradient(args: Arguments) -> Value:
    axis, axes = args.axes("axis"), rank(args.array.shape)
    one = Value(args.array.shape, inexact(args.array.dtype))
    if axes == 1 or type(axis) is int:
        return one
    if axis is None and axes is not None:
        return several(*[one] * axes)
    return ANYTHING


def _ix(args: Arguments) -> Value:
    count = len(args.rest)
    grids: list[Value] = []
    for at, array in enumerate(args.rest):
        size = None if array.dtype in (None, "bool") else element_count(array.shape)
        grids.append(Value((*(1,) * at, size, *(1,) * (count - at - 1)), "int32"))
    return several(*grids)


def _choose(args: Arguments) -> Value:
    choices = items_of(args["choices"])
    if choices is None:
        return ANYTHING
    shapes = [args.array.shape, *[choice.shape for choice in choices]]
    return Value(broadcast(*shapes), promote(*[choice.dtype for choice in choices]))


def _lexsort(args: Arguments) -> Value:
    """The order of the last key, which the others refine."""
    keys = args.sequence("keys")
    return Value(keys[0].shape if keys else None, "int32")


def _ediff1d(args: Arguments) -> Value:
    count = element_count(args.array.shape)
    extended = args.given("to_end") or args.given("to_begin")
    return Value((None if extended else add(count, -1),), args.array.dtype)


def _raveled(args: Arguments) -> Value:
    indices = args.sequence("multi_index")
    shape = broadcast(*(it.shape for it in indices)) if indices else None
    return Value(shape, args.dtype("dtype", "int32"))


def _diagonal_indices(args: Arguments) -> Value:
    shape = known(args.array.shape)
    if shape is None:
        return ANYTHING
    return several(*[Value(shape[:1], "int32")] * len(shape))


def _bin_edges(args: Arguments) -> Value:
    edges = _histogram(args).elements
    return edges[1] if edges else ANYTHING


def _polyfit(args: Arguments) -> Value:
    """One coefficient more than the degree, for each column of what is fitted."""
    degree, y = args.size("deg"), known(args["y"].shape)
    dtype = inexact(promote(args["x"].dtype, args["y"].dtype))
    if y is None or args.flag("full") is not False or args.flag("cov") is not False:
        return ANYTHING
    return Value((add(degree, 1), *y[1:]), dtype)


def _top_k(args: Arguments) -> Value:
    size, axis = args.size("k"), args.axes("axis", -1)
    shape = args.array.shape
    chosen = change_axis(shape, axis, lambda _: (size,)) if type(axis) is int else None
    return several(Value(chosen, args.array.dtype), Value(chosen, "int32"))


TOP_K: Rule = _top_k


def _table() -> Table:
    found = "*, size, fill_value"
    rows: list[tuple[str, str, Rule]] = [
        (
            "take",
            "a, indices, axis, out, mode, unique_indices, indices_are_sorted, fill_value",
            same_type(_take),
        ),
        ("take_along_axis", "arr, indices, axis, mode, fill_value", same_type(_take_along_axis)),
        ("put_along_axis", "arr, indices, values, axis, inplace, *, mode", unchanged),
        ("put", "a, ind, v, mode, *, inplace", unchanged),
        ("place", "arr, mask, vals, *, inplace", unchanged),
        ("nonzero", f"a, {found}", nonzero),
        ("flatnonzero", f"a, {found}", _found_indices),
        ("argwhere", f"a, {found}", _argwhere),
        ("compress", f"condition, a, axis, {found}, out", _compress),
        ("extract", f"condition, arr, {found}", _extract),
        (
            "unique",
            f"ar, return_index, return_inverse, return_counts, axis, *, equal_nan{found[1:]}",
            _unique,
        ),
        ("unique_values", f"x, {found}", _found),
        ("union1d", f"ar1, ar2, {found}", _set_of_two),
        ("setdiff1d setxor1d", f"ar1, ar2, assume_unique, {found}", _set_of_two),
        ("intersect1d", f"ar1, ar2, assume_unique, return_indices, {found}", _set_of_two),
        ("bincount", "x, weights, minlength, *, length", _bincount),
        ("searchsorted", "a, v, side, sorter, *, method", _searchsorted),
        ("digitize", "x, bins, right, *, method", _digitize),
        ("interp", "x, xp, fp, left, right, period", _interp),
        ("isin", "element, test_elements, assume_unique, invert, *, method", _isin),
        ("select", "condlist, choicelist, default", _select),
        ("choose", "a, choices, out, mode", _choose),
        ("histogram", "a, bins, range, weights, density", _histogram),
        ("cross", "a, b, axisa, axisb, axisc, axis", _cross),
        ("unravel_index", "indices, shape", _unravel),
        ("polyval", "p, x, *, unroll", _polyval),
        ("gradient", "f, *varargs, axis, edge_order", _gradient),
        ("ix_", "*args", _ix),
        ("lexsort", "keys, axis", _lexsort),
        ("ediff1d", "ary, to_end, to_begin", _ediff1d),
        ("ravel_multi_index", "multi_index, dims, mode, order, *, dtype", _raveled),
        ("diag_indices_from", "arr", _diagonal_indices),
        ("piecewise", "x, condlist, funclist, *args", unchanged),
        ("histogram_bin_edges", "a, bins, range, weights", _bin_edges),
        ("polyfit", "x, y, deg, rcond, full, w, cov", _polyfit),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries("jax.numpy", names, signature, rule))
    return table


TABLE: Table = _table()
