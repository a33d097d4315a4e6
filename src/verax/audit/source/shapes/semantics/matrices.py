"""Linear algebra: what is known of matrices, their factors, and systems of equations."""

from __future__ import annotations

from collections.abc import Callable

from ..axes import matrix_transpose
from ..creation import diagonal
from ..dims import Dim, add, differ, minimum, show
from ..dtypes import DType, inexact, promote, real, summed
from ..joining import atleast
from ..shape import Mismatch, Partial, Shape, known, reduce
from ..values import ANYTHING, UNKNOWN, Value, several
from .arguments import Arguments
from .entries import Rule, Table, entries
from .pointwise import real_inexact
from .rearranging import same_type


def _square(shape: Shape) -> Dim:
    """The side of square matrices."""
    if isinstance(shape, Partial):
        shape = (None, None, *shape.trail)
    if shape is None:
        return None
    if len(shape) < 2:
        raise Mismatch("linear algebra needs matrices, not vectors")
    rows, columns = shape[-2:]
    if differ(rows, columns):
        raise Mismatch(f"the matrix is not square: {show(rows)} by {show(columns)}")
    return rows


def of_square(shape: Callable[[Shape], Shape], dtype: Callable[[DType], DType] = inexact) -> Rule:
    """A rule for functions of square matrices."""

    def rule(args: Arguments) -> Value:
        _square(args.array.shape)
        return Value(shape(args.array.shape), dtype(args.array.dtype))

    return rule


def _itself(shape: Shape) -> Shape:
    return shape


def _per_matrix(shape: Shape) -> Shape:
    """One number for each matrix."""
    return reduce(shape, (-2, -1))


def _per_row(shape: Shape) -> Shape:
    return reduce(shape, -1)


def _complex(_: DType) -> DType:
    return "complex64"


def _slogdet(args: Arguments) -> Value:
    _square(args.array.shape)
    shape, dtype = _per_matrix(args.array.shape), inexact(args.array.dtype)
    return several(Value(shape, dtype), Value(shape, real(dtype)))


def _eigh(args: Arguments) -> Value:
    _square(args.array.shape)
    shape, dtype = args.array.shape, inexact(args.array.dtype)
    return several(Value(_per_row(shape), real(dtype)), Value(shape, dtype))


def _eig(args: Arguments) -> Value:
    _square(args.array.shape)
    shape = args.array.shape
    return several(Value(_per_row(shape), "complex64"), Value(shape, "complex64"))


def _solve(args: Arguments) -> Value:
    a, b = args["a"].shape, args["b"].shape
    side, dtype = _square(a), inexact(promote(args["a"].dtype, args["b"].dtype))
    right, left = known(b), known(a)
    if right is None or left is None or len(left) != 2 or len(right) > 2:
        return Value(None, dtype)
    if not right or differ(side, right[0]):
        raise Mismatch("the right-hand side has another size than the matrix")
    return Value(right, dtype)


def _svd(args: Arguments) -> Value:
    shape, dtype = known(args.array.shape), inexact(args.array.dtype)
    full, vectors = args.constant("full_matrices", True), args.constant("compute_uv", True)
    if not isinstance(vectors, bool):
        return ANYTHING
    if shape is None or len(shape) < 2 or full is UNKNOWN or args.given("subset_by_index"):
        return several(ANYTHING, ANYTHING, ANYTHING) if vectors else ANYTHING
    *batch, rows, columns = shape
    least = minimum(rows, columns)
    singular = Value((*batch, least), real(dtype))
    if not vectors:
        return singular
    left, right = (rows, columns) if full else (least, least)
    return several(
        Value((*batch, rows, left), dtype), singular, Value((*batch, right, columns), dtype)
    )


def _qr(args: Arguments) -> Value:
    shape, dtype = known(args.array.shape), inexact(args.array.dtype)
    mode = args.constant("mode", "reduced")
    if shape is None or len(shape) < 2 or mode != "reduced":
        return several(ANYTHING, ANYTHING) if mode in ("reduced", "complete") else ANYTHING
    *batch, rows, columns = shape
    least = minimum(rows, columns)
    return several(Value((*batch, rows, least), dtype), Value((*batch, least, columns), dtype))


def _pinv(args: Arguments) -> Value:
    return Value(matrix_transpose(args.array.shape), inexact(args.array.dtype))


def _solution_of(right_hand_side: str) -> Rule:
    """What solves a linear system has the shape of its right-hand side."""

    def rule(args: Arguments) -> Value:
        right = args[right_hand_side]
        return Value(right.shape, inexact(right.dtype))

    return rule


def _factor(args: Arguments) -> Value:
    """A triangular matrix, and which half of it counts."""
    return several(Value(args.array.shape, inexact(args.array.dtype)), ANYTHING)


def _lu_factor(args: Arguments) -> Value:
    """Both triangles in one matrix, and which rows were exchanged."""
    shape, dtype = known(args.array.shape), inexact(args.array.dtype)
    if shape is None or len(shape) < 2:
        return several(Value(None, dtype), Value(None, "int32"))
    *batch, rows, columns = shape
    return several(Value(shape, dtype), Value((*batch, minimum(rows, columns)), "int32"))


def _lu(args: Arguments) -> Value:
    """The exchanges as a matrix, the lower triangle and the upper one."""
    shape, dtype = known(args.array.shape), inexact(args.array.dtype)
    if args.flag("permute_l") is not False:
        return ANYTHING
    if shape is None or len(shape) < 2:
        return several(ANYTHING, ANYTHING, ANYTHING)
    *batch, rows, columns = shape
    least = minimum(rows, columns)
    sides = ((rows, rows), (rows, least), (least, columns))
    return several(*(Value((*batch, *pair), dtype) for pair in sides))


def _eigenpairs(args: Arguments) -> Value:
    """SciPy's, which leaves out the vectors if it is asked to."""
    if args.given("b") or args.given("eigvals"):
        return ANYTHING
    match args.flag("eigvals_only"):
        case False:
            return _eigh(args)
        case True:
            return of_square(_per_row, real_inexact)(args)
        case _:
            return ANYTHING


def _least_squares(args: Arguments) -> Value:
    """The solution, what is left of the right-hand side, the rank and the singular values."""
    shape, right = known(args["a"].shape), known(args["b"].shape)
    dtype = inexact(promote(args["a"].dtype, args["b"].dtype))
    if shape is None or right is None or len(shape) != 2:
        return several(ANYTHING, ANYTHING, ANYTHING, ANYTHING)
    rows, columns = shape
    if right and differ(rows, right[0]):
        raise Mismatch("the right-hand side has another size than the matrix")
    return several(
        Value((columns, *right[1:]), dtype),
        Value(None, dtype),
        Value((), "int32"),
        Value((minimum(rows, columns),), dtype),
    )


def _singular_values(args: Arguments) -> Value:
    found = known(args.array.shape)
    shape = None
    if found is not None and len(found) >= 2:
        shape = (*found[:-2], minimum(found[-2], found[-1]))
    return Value(shape, real_inexact(args.array.dtype))


def _matrix_norm(args: Arguments) -> Value:
    keepdims = args.flag("keepdims")
    shape = None if keepdims is UNKNOWN else reduce(args.array.shape, (-2, -1), keepdims)
    return Value(shape, real_inexact(args.array.dtype))


def _last_diagonal(args: Arguments) -> Shape:
    shape, offset = known(args.array.shape), args.integer("offset", 0)
    if shape is None or type(offset) is not int:
        return None
    return diagonal(shape, offset, -2, -1)


def _block_diagonal(args: Arguments) -> Value:
    """Matrices along a diagonal: their sizes add up. A vector is one row."""
    rows: Dim = 0
    columns: Dim = 0
    for each in args.rest:
        match known(atleast(each.shape, 2)):
            case (side, other):
                rows, columns = add(rows, side), add(columns, other)
            case _:
                rows = columns = None
    return Value((rows, columns), promote(*(each.dtype for each in args.rest)))


def _toeplitz(args: Arguments) -> Value:
    """A matrix with the first column `c` and the first row `r`."""
    column = known(args["c"].shape)
    row = known(args["r"].shape) if args.given("r") else column
    given = [args[name].dtype for name in ("c", "r") if args.given(name)]
    if column is None or row is None or not len(column) == len(row) == 1:
        return Value(None, promote(*given))
    return Value((column[0], row[0]), promote(*given))


def _trace(args: Arguments) -> Value:
    dtype = args.dtype("dtype", summed(args.array.dtype))
    return Value(reduce(args.array.shape, (-2, -1)), dtype)


def _rank(args: Arguments) -> Value:
    return Value(reduce(args.array.shape, (-2, -1)), "int32")


_NUMPY: list[tuple[str, str, Rule]] = [
    ("cholesky", "a, *, upper, symmetrize_input", of_square(_itself)),
    ("inv", "a", of_square(_itself)),
    ("matrix_power", "a, n", of_square(_itself, lambda dtype: dtype)),
    ("det", "a", of_square(_per_matrix)),
    ("slogdet", "a, *, method", _slogdet),
    ("eigh", "a, UPLO, symmetrize_input", _eigh),
    ("eigvalsh", "a, UPLO, *, symmetrize_input", of_square(_per_row, real_inexact)),
    ("eig", "a", _eig),
    ("eigvals", "a", of_square(_per_row, _complex)),
    ("solve", "a, b", _solve),
    ("svd", "a, full_matrices, compute_uv, hermitian, subset_by_index", _svd),
    ("qr", "a, mode", _qr),
    ("pinv", "a, rtol, hermitian, *, rcond", _pinv),
    ("cond", "x, p", _matrix_norm),
    ("diagonal", "x, *, offset", same_type(_last_diagonal)),
    ("lstsq", "a, b, rcond, *, numpy_resid", _least_squares),
    ("matrix_norm", "x, *, keepdims, ord", _matrix_norm),
    ("matrix_rank", "M, rtol, *, hermitian, tol", _rank),
    ("svdvals", "x", _singular_values),
    ("trace", "x, *, offset, dtype", _trace),
]
_CHECKED = "overwrite_a, check_finite"
_SCIPY: list[tuple[str, str, Rule]] = [
    ("block_diag", "*arrs", _block_diagonal),
    ("cholesky", f"a, lower, {_CHECKED}", of_square(_itself)),
    ("cho_factor", f"a, lower, {_CHECKED}", _factor),
    ("cho_solve", "c_and_lower, b, overwrite_b, check_finite", _solution_of("b")),
    ("det", f"a, {_CHECKED}", of_square(_per_matrix)),
    ("eigh", "a, b, lower, eigvals_only, overwrite_a, overwrite_b, turbo, eigvals", _eigenpairs),
    ("expm", "A, *, upper_triangular, max_squarings", of_square(_itself)),
    ("inv", f"a, {_CHECKED}", of_square(_itself)),
    ("lu", f"a, permute_l, {_CHECKED}", _lu),
    ("lu_factor", f"a, {_CHECKED}", _lu_factor),
    ("lu_solve", "lu_and_piv, b, trans, overwrite_b, check_finite", _solution_of("b")),
    ("solve", "a, b, lower, overwrite_a, overwrite_b, debug, check_finite, assume_a", _solve),
    (
        "solve_triangular",
        "a, b, trans, lower, unit_diagonal, overwrite_b",
        _solution_of("b"),
    ),
    ("solve_sylvester", "A, B, C, *, method, tol", _solution_of("C")),
    ("sqrtm", "A, blocksize", of_square(_itself, _complex)),
    ("svd", f"a, full_matrices, compute_uv, {_CHECKED}, lapack_driver", _svd),
    ("toeplitz", "c, r", _toeplitz),
]
_LAX: list[tuple[str, str, Rule]] = [
    ("cholesky", "x, *, symmetrize_input", of_square(_itself)),
    ("triangular_solve", "a, b, *, left_side, lower", _solution_of("b")),
]


def _table() -> Table:
    table: Table = {}
    for module, rows in (
        ("jax.numpy.linalg", _NUMPY),
        ("jax.scipy.linalg", _SCIPY),
        ("jax.lax.linalg", _LAX),
    ):
        for names, signature, rule in rows:
            table.update(entries(module, names, signature, rule))
    return table


TABLE: Table = _table()
