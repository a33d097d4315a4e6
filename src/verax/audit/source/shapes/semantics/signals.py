"""Transforms to frequencies and back, and what slides one array over another."""

from __future__ import annotations

from collections.abc import Callable

from ..dims import Dim, add, floordiv, mul
from ..dtypes import DType, inexact, promote, real
from ..names import without_name
from ..shape import Axes, Shape, change_axis, known, rank
from ..values import UNKNOWN, Unknown, Value
from .arguments import Arguments
from .entries import Rule, Table, entries
from .rearranging import unchanged

# How many there are of something after a transform, by how many there were.
Count = Callable[[Dim], Dim]


def _half(size: Dim) -> Dim:
    """What is real has the same frequencies twice."""
    return add(floordiv(size, 2), 1)


def _whole(size: Dim) -> Dim:
    return mul(add(size, -1), 2)


def _transform(axis: str, default: Axes, last: Count, dtype: Callable[[DType], DType]) -> Rule:
    """Frequencies take the place of what is transformed: as many, under no name.

    `last` says how many there are along the last axis, and nothing if a size was asked for.
    """

    def rule(args: Arguments) -> Value:
        axes = _axes(args, axis, default)
        if axes is None:
            return Value(None, dtype(args.array.dtype))
        wanted = known(args.sizes("n" if axis == "axis" else "s"))
        shape = args.array.shape
        for at, each in enumerate(axes):
            count: Count = last if at == len(axes) - 1 else without_name
            if wanted is not None and last is _whole and count is last:
                count = without_name  # The size is that of the result.
            size = wanted[at] if wanted is not None and at < len(wanted) else UNKNOWN
            shape = change_axis(shape, each, _resized(count, size))
        return Value(shape, dtype(args.array.dtype))

    return rule


def _resized(count: Count, size: Dim | Unknown) -> Callable[[Dim], tuple[Dim, ...]]:
    return lambda dim: (count(dim if size is UNKNOWN else size),)


def _axes(args: Arguments, name: str, default: Axes) -> tuple[int, ...] | None:
    """The axes that are transformed, if they and the sizes asked for are known."""
    size = "n" if name == "axis" else "s"
    axes = args.axes(name, default)
    if axes is UNKNOWN or (args.given(size) and args.sizes(size) is None):
        return None
    if axes is None:
        count = len(known(args.sizes(size)) or ()) if args.given(size) else rank(args.array.shape)
        return None if count is None else tuple(range(-count, 0))
    return (axes,) if isinstance(axes, int) else axes


def _complex(_: DType) -> DType:
    return "complex64"


def _real(dtype: DType) -> DType:
    return real(inexact(dtype)) or "float32"


def _frequencies(count: Count) -> Rule:
    def rule(args: Arguments) -> Value:
        return Value((count(args.size("n")),), args.dtype("dtype", "float32"))

    return rule


def _slid(first: Dim, second: Dim, mode: object, same: Callable[[int, int], int]) -> Dim:
    """How much comes of sliding one vector over another."""
    if mode == "full":
        return add(add(first, second), -1)
    if type(first) is not int or type(second) is not int:
        return first if mode == "same" and first == second else None
    if mode == "same":
        return same(first, second)
    return abs(first - second) + 1 if mode == "valid" else None


def _of_vectors(default: str) -> Rule:
    """NumPy's: of vectors alone, and the longer one says how long the result is."""

    def rule(args: Arguments) -> Value:
        a, v = known(args["a"].shape), known(args["v"].shape)
        dtype = inexact(promote(args["a"].dtype, args["v"].dtype))
        if a is None or v is None or not len(a) == len(v) == 1:
            return Value((None,), dtype)
        return Value((_slid(a[0], v[0], args.constant("mode", default), max),), dtype)

    return rule


def _of_images(args: Arguments) -> Value:
    """SciPy's: along each axis, and the first one says how long the result is."""
    one, other = known(args["in1"].shape), known(args["in2"].shape)
    dtype = inexact(promote(args["in1"].dtype, args["in2"].dtype))
    if one is None or other is None or len(one) != len(other) or args.given("axes"):
        return Value(None, dtype)
    mode = args.constant("mode", "full")
    sizes = (_slid(n, m, mode, _first) for n, m in zip(one, other, strict=True))
    return Value(tuple(sizes), dtype)


def _first(one: int, _: int) -> int:
    return one


def _real_unless_resized(args: Arguments) -> Value:
    """A cosine transform: as many frequencies as there were numbers."""
    resized = args.given("n") or args.given("s")
    shape: Shape = None if resized else args.array.shape
    return Value(shape, inexact(args.array.dtype))


def _sampled(args: Arguments) -> Value:
    """One value for each point, whose coordinates are along the first axis or in a list."""
    points = args.sequence("coordinates")
    return Value(points[0].shape if points else None, args.array.dtype)


def _table() -> Table:
    one, several = "a, n, axis, norm", "a, s, axes, norm"
    last_two = (-2, -1)
    preferred = "*, precision, preferred_element_type"
    rows: list[tuple[str, str, str, Rule]] = [
        ("numpy.fft", "fft ifft", one, _transform("axis", -1, without_name, _complex)),
        ("numpy.fft", "fft2 ifft2", several, _transform("axes", last_two, without_name, _complex)),
        ("numpy.fft", "fftn ifftn", several, _transform("axes", None, without_name, _complex)),
        ("numpy.fft", "rfft ihfft", one, _transform("axis", -1, _half, _complex)),
        ("numpy.fft", "rfft2", several, _transform("axes", last_two, _half, _complex)),
        ("numpy.fft", "rfftn", several, _transform("axes", None, _half, _complex)),
        ("numpy.fft", "irfft hfft", one, _transform("axis", -1, _whole, _real)),
        ("numpy.fft", "irfft2", several, _transform("axes", last_two, _whole, _real)),
        ("numpy.fft", "irfftn", several, _transform("axes", None, _whole, _real)),
        ("numpy.fft", "fftfreq", "n, d, *, dtype, device", _frequencies(lambda size: size)),
        ("numpy.fft", "rfftfreq", "n, d, *, dtype, device", _frequencies(_half)),
        ("numpy.fft", "fftshift ifftshift", "x, axes", unchanged),
        ("numpy", "convolve", f"a, v, mode, {preferred}", _of_vectors("full")),
        ("numpy", "correlate", f"a, v, mode, {preferred}", _of_vectors("valid")),
        ("scipy.signal", "convolve correlate", "in1, in2, mode, method, precision", _of_images),
        ("scipy.signal", "fftconvolve", "in1, in2, mode, axes", _of_images),
        (
            "scipy.signal",
            "convolve2d correlate2d",
            "in1, in2, mode, boundary, fillvalue, precision",
            _of_images,
        ),
        ("scipy.signal", "detrend", "data, axis, type, bp, overwrite_data", _real_unless_resized),
        ("scipy.fft", "dct idct", "x, type, n, axis, norm", _real_unless_resized),
        ("scipy.fft", "dctn idctn", "x, type, s, axes, norm", _real_unless_resized),
        ("scipy.ndimage", "map_coordinates", "input, coordinates, order, mode, cval", _sampled),
    ]
    table: Table = {}
    for module, names, signature, rule in rows:
        table.update(entries(f"jax.{module}", names, signature, rule))
    return table


TABLE: Table = _table()
