"""Products, and linear algebra."""

from __future__ import annotations

from collections.abc import Callable

from ..axes import matrix_transpose
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
from ..dims import Dim, add, differ, floordiv, minimum, mul, show
from ..dtypes import DType, inexact, promote, real
from ..names import without_name
from ..shape import Mismatch, Partial, Shape, change_axis, known
from ..values import ANYTHING, UNKNOWN, Value, several
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


def _convolve(args: Arguments) -> Value:
    a, v = known(args["a"].shape), known(args["v"].shape)
    dtype = inexact(promote(args["a"].dtype, args["v"].dtype))
    mode = args.constant("mode", "full")
    if a is None or v is None or len(a) != 1 or len(v) != 1:
        return Value((None,), dtype)
    if mode == "full":
        return Value((add(add(a[0], v[0]), -1),), dtype)
    return Value((a[0] if mode == "same" and a[0] == v[0] else None,), dtype)


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
    return _dropped(_dropped(shape, -1), -1)


def _per_row(shape: Shape) -> Shape:
    return _dropped(shape, -1)


def _complex(_: DType) -> DType:
    return "complex64"


def _real(dtype: DType) -> DType:
    return real(inexact(dtype))


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


def _fft(default: int | tuple[int, ...] | None) -> Rule:
    """Frequencies take the place of what is transformed: as many, under no name."""

    def rule(args: Arguments) -> Value:
        shape = None if args.given("n") or args.given("s") else args.array.shape
        axes = args.axes("axis" if default == -1 else "axes", default)
        if isinstance(axes, int):
            axes = (axes,)
        every = range(len(shape)) if isinstance(shape, tuple) else ()
        for axis in axes if isinstance(axes, tuple) else every:
            shape = change_axis(shape, axis, lambda dim: (without_name(dim),))
        return Value(shape, "complex64")

    return rule


def _rfft(args: Arguments) -> Value:
    axis = args.axes("axis", -1)
    if args.given("n") or type(axis) is not int:
        return Value(None, "complex64")
    shape = change_axis(args.array.shape, axis, lambda dim: (add(floordiv(dim, 2), 1),))
    return Value(shape, "complex64")


def _irfft(args: Arguments) -> Value:
    axis = args.axes("axis", -1)
    if type(axis) is not int:
        return Value(None, "float32")
    size = args.size("n") if args.given("n") else UNKNOWN
    shape = change_axis(
        args.array.shape, axis, lambda dim: (mul(add(dim, -1), 2) if size is UNKNOWN else size,)
    )
    return Value(shape, "float32")


def _frequencies(half: bool) -> Rule:
    def rule(args: Arguments) -> Value:
        size = args.size("n")
        length = add(floordiv(size, 2), 1) if half else size
        return Value((length,), args.dtype("dtype", "float32"))

    return rule


def _shifted(args: Arguments) -> Value:
    return Value(args.array.shape, args.array.dtype)


def _table() -> Table:
    preferred = "*, precision, preferred_element_type"
    norm = "a, n, axis, norm"
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
        ("convolve correlate", f"a, v, mode, {preferred}", _convolve),
        ("linalg.cholesky", "a, *, upper, symmetrize_input", of_square(_itself)),
        ("linalg.inv", "a", of_square(_itself)),
        ("linalg.matrix_power", "a, n", of_square(_itself, lambda dtype: dtype)),
        ("linalg.det", "a", of_square(_per_matrix)),
        ("linalg.slogdet", "a, *, method", _slogdet),
        ("linalg.eigh", "a, UPLO, symmetrize_input", _eigh),
        ("linalg.eigvalsh", "a, UPLO, *, symmetrize_input", of_square(_per_row, _real)),
        ("linalg.eig", "a", _eig),
        ("linalg.eigvals", "a", of_square(_per_row, _complex)),
        ("linalg.solve", "a, b", _solve),
        ("linalg.svd", "a, full_matrices, compute_uv, hermitian, subset_by_index", _svd),
        ("linalg.qr", "a, mode", _qr),
        ("linalg.pinv", "a, rtol, hermitian, *, rcond", _pinv),
        ("fft.fft fft.ifft", norm, _fft(-1)),
        ("fft.fft2 fft.ifft2", "a, s, axes, norm", _fft((-2, -1))),
        ("fft.fftn fft.ifftn", "a, s, axes, norm", _fft(None)),
        ("fft.rfft", norm, _rfft),
        ("fft.irfft", norm, _irfft),
        ("fft.fftfreq", "n, d, *, dtype, device", _frequencies(half=False)),
        ("fft.rfftfreq", "n, d, *, dtype, device", _frequencies(half=True)),
        ("fft.fftshift fft.ifftshift", "x, axes", _shifted),
    ]
    table: Table = {"operator.matmul": function("a, b", product(matmul))}
    for names, signature, rule in rows:
        table.update(entries("jax.numpy", names, signature, rule))
    general = "lhs, rhs, dimension_numbers, precision, preferred_element_type, *, out_sharding"
    table.update(entries("jax.lax", "dot_general", general, _dot_general))
    return table


TABLE: Table = _table()
