"""Operations that mean the same, by the names under which the graph of values knows them."""

from __future__ import annotations

# Functions that compute what an operator does, by the operator's name: nobody has to know both.
_OPERATORS = {
    "+": "jax.numpy.add numpy.add jax.lax.add",
    "-": "jax.numpy.subtract numpy.subtract jax.lax.sub",
    "*": "jax.numpy.multiply numpy.multiply jax.lax.mul",
    "/": "jax.numpy.divide jax.numpy.true_divide numpy.divide numpy.true_divide jax.lax.div",
    "//": "jax.numpy.floor_divide numpy.floor_divide",
    "%": "jax.numpy.mod jax.numpy.remainder numpy.mod numpy.remainder",
    "**": "jax.numpy.power jax.numpy.pow numpy.power jax.lax.pow jax.lax.integer_pow",
    "@": "jax.numpy.matmul numpy.matmul",
    "<": "jax.numpy.less numpy.less jax.lax.lt",
    "<=": "jax.numpy.less_equal numpy.less_equal jax.lax.le",
    ">": "jax.numpy.greater numpy.greater jax.lax.gt",
    ">=": "jax.numpy.greater_equal numpy.greater_equal jax.lax.ge",
    "==": "jax.numpy.equal numpy.equal jax.lax.eq",
    "!=": "jax.numpy.not_equal numpy.not_equal jax.lax.ne",
    "-x": "jax.numpy.negative numpy.negative jax.lax.neg",
    # Of flags, which are what one negates.
    "~x": "jax.numpy.logical_not numpy.logical_not jax.numpy.invert jax.numpy.bitwise_not "
    "jax.lax.bitwise_not",
}
_OPERATOR_OF = {name: symbol for symbol, names in _OPERATORS.items() for name in names.split()}


def operation_of(function: str, count: int) -> str:
    """The name under which the graph knows what a function makes of a number of operands."""
    symbol = _OPERATOR_OF.get(function)
    return (
        symbol if symbol is not None and count == (1 if symbol.endswith("x") else 2) else function
    )


# Where functions on arrays are found, by what stands before their names; methods of arrays, too.
MODULES = ("jax.numpy", "jax.lax", "jax.nn", "ndarray")


def _named(names: str, *owners: str) -> frozenset[str]:
    """Full names of functions that all owners have. Of two for one thing, the graph knows one."""
    return frozenset(f"{owner}.{name}" for owner in owners for name in names.split())


def _of_arrays(names: str) -> frozenset[str]:
    """Functions of `jax.numpy` that are methods of arrays as well."""
    return _named(names, "jax.numpy", "ndarray")


def bare(operations: frozenset[str]) -> frozenset[str]:
    """The last parts of full names, for those who see no more than these."""
    return frozenset(it.rpartition(".")[2] for it in operations)


# Ways in which a value is known on the other side of a boundary, in one turn or lane, or after all.
ACROSS = frozenset("carry turn last join lane slice stack primal".split())
# Parts of what holds several values.
PARTS = frozenset(("element", "field", "item"))
# What a function, a turn or a lane was given, or takes from that.
GIVEN = frozenset("parameter argument field item carry turn slice lane".split())

# Flags, of two values.
COMPARISONS = frozenset(("<", "<=", ">", ">=", "==", "!="))
# What operators compute of numbers, element by element and in their type.
ARITHMETIC = frozenset("+ - * / // % ** -x +x".split())
# Between two values, element by element.
SELECTIONS = frozenset(("jax.numpy.where", "jax.lax.select"))
# Flags, of whatever.
FLAGS = (
    COMPARISONS
    | _of_arrays("any all")
    | _named("logical_or logical_and logical_xor logical_not", "jax.numpy")
    | _named("isclose allclose array_equal isin isnan isinf isfinite signbit", "jax.numpy")
    | {"|", "&", "~x", "jax.lax.is_finite"}
)
# The smaller or the larger of two values, element by element.
MINIMA = _named("minimum fmin", "jax.numpy") | {"jax.lax.min"}
MAXIMA = _named("maximum fmax", "jax.numpy") | {"jax.lax.max"}
# Within two bounds, which lax wants on both sides of the value.
CLIPS = _of_arrays("clip") | {"jax.lax.clamp"}
# They keep a value within bounds.
BOUNDS = MINIMA | MAXIMA | CLIPS
# Of flags, which may be numbers.
OR = MAXIMA | {"|", "jax.numpy.logical_or", "jax.numpy.bitwise_or"}
AND = MINIMA | {"*", "&", "jax.numpy.logical_and", "jax.numpy.bitwise_and"}
# Names of what leaves out, or asks for, what is not finite.
GUARDS = frozenset(
    "where select select_n nan_to_num isfinite isnan isinf isneginf isposinf nanmean nansum".split()
)

# They give numbers another type: the one that they are called, ...
INTEGER_CASTS = _named("int8 int16 int32 int64 uint8 uint16 uint32 uint64", "jax.numpy")
FLOAT_CASTS = _named("bfloat16 float16 float32 float64", "jax.numpy")
# ... or one that they are told.
CASTS_TO_GIVEN = frozenset(
    "ndarray.astype jax.numpy.astype jax.numpy.asarray jax.lax.convert_element_type".split()
)
CASTS = CASTS_TO_GIVEN | INTEGER_CASTS | FLOAT_CASTS | {"jax.numpy.bool_"}
# They give numbers other axes, and leave them in their order.
RESHAPES = (
    _of_arrays("reshape squeeze ravel")
    | _named("reshape squeeze expand_dims", "jax.lax")
    | {"jax.numpy.expand_dims", "ndarray.flatten"}
)
# They change how an array is laid out or stored, and nothing of what it says.
VIEWS = CASTS | RESHAPES
# They repeat numbers along axes that these did not have.
BROADCASTS = frozenset("jax.numpy.broadcast_to jax.lax.broadcast jax.lax.broadcast_in_dim".split())
# They give numbers another order of axes, ...
TRANSPOSES = (
    _of_arrays("transpose swapaxes")
    | _named("moveaxis rollaxis matrix_transpose", "jax.numpy")
    | {"ndarray.T", "ndarray.mT", "jax.lax.transpose"}
)
# ... or another order along one.
REVERSALS = _named("flip flipud fliplr", "jax.numpy") | {"jax.lax.rev"}

# They take one element of an axis, or some, as an index in brackets does.
PICKS = _of_arrays("take") | _named("index_in_dim dynamic_index_in_dim", "jax.lax")

# Of everything, or along an axis.
SUMS = _of_arrays("sum")
# With the same weight for each.
MEANS = _of_arrays("mean")
# Means also of what is there, or with weights.
AVERAGES = MEANS | _named("average nanmean", "jax.numpy")
# How far numbers are from their mean.
DEVIATIONS = _of_arrays("std var")
# Names of what makes one number of several, of their kind and along the axis that it is told next.
STATISTICS = frozenset(
    "sum mean max min prod std var median average ptp logsumexp amax amin nansum nanmean nanmax "
    "nanmin nanprod nanstd nanvar nanmedian".split()
)
# Names of all that makes one number, a flag or a position of several.
REDUCTIONS = STATISTICS | frozenset(
    "any all norm count_nonzero argmax argmin nanargmax nanargmin quantile percentile nanquantile "
    "nanpercentile".split()
)
# Products of two matrices, or of a vector with one, over the last axis and the last but one.
MATMULS = _of_arrays("dot") | {"@", "jax.numpy.matmul", "jax.lax.dot"}
# Products that are summed over one axis or several, whichever those are.
CONTRACTIONS = (
    MATMULS | _named("einsum tensordot inner vdot vecdot", "jax.numpy") | {"jax.lax.dot_general"}
)

# They make an array of one number, of a shape that they are told or that another array has.
ZEROS = _named("zeros zeros_like", "jax.numpy", "numpy")
ONES = _named("ones ones_like", "jax.numpy", "numpy")
FULLS = _named("full full_like", "jax.numpy", "jax.lax", "numpy")
FILLED = ZEROS | ONES | FULLS | _named("empty empty_like", "jax.numpy", "numpy")
# Those that take nothing of an array but its shape and type.
LIKES = frozenset(it for it in FILLED if it.endswith("_like"))
# Numbers from zero on, one after the other.
RANGES = _named("arange", "jax.numpy", "numpy") | _named("iota broadcasted_iota", "jax.lax")
# They put arrays side by side, or one behind the other.
JOINS = _named("concatenate stack hstack vstack dstack column_stack", "jax.numpy", "numpy") | {
    "jax.lax.concatenate"
}

# Functions of each element, under all names that they have.
ABSOLUTES = _named("abs fabs", "jax.numpy") | {"jax.lax.abs", "builtins.abs"}
SQUARES = _named("square", "jax.numpy", "jax.lax")
ROOTS = _named("sqrt", "jax.numpy", "jax.lax")
LOGARITHMS = _named("log log2 log10", "jax.numpy") | {"jax.lax.log"}
POWERS = _named("power float_power", "jax.numpy") | {"**", "jax.lax.integer_pow"}
# One over something, or over its root.
RECIPROCALS = _named("reciprocal rsqrt", "jax.lax") | {"jax.numpy.reciprocal"}
# Lengths of vectors.
NORMS = _named("norm vector_norm", "jax.numpy.linalg")
# No function, but a number under several names.
INFINITY = _named("inf", "jax.numpy", "numpy", "math")
# They make one value of those that lanes or devices have, for all of them.
COLLECTIVES = _named("psum pmean pmax pmin all_gather", "jax.lax")
# Parts of an array are replaced, or changed: by the nodes that they make, and as they are called.
_WRITES = "set add subtract mul multiply divide power min max apply"
WRITTEN = _named(_WRITES, "at")
WRITES = _named(_WRITES, "ndarray.at[]")
