"""Functions from the smaller modules: segments, images, densities, linear systems."""

from __future__ import annotations

from ..contraction import dot, matmul
from ..dtypes import inexact
from ..reshaping import element_count
from ..shape import broadcast, change_axis, known
from ..values import ANYTHING, Value, several
from .arguments import Arguments
from .entries import Rule, Table, entries
from .pointwise import inexact_promoted, pointwise
from .products import of_square, product


def _segments(args: Arguments) -> Value:
    """One row for each segment; how many there are is known only if it is said."""
    count = args.size("num_segments")
    return Value(change_axis(args.array.shape, 0, lambda _: (count,)), args.array.dtype)


def _resized(args: Arguments) -> Value:
    return Value(args.sizes("shape"), inexact(args.array.dtype))


def _repeated(args: Arguments) -> Value:
    return Value(args.sizes("new_shape"), args.array.dtype)


def _covariance(args: Arguments) -> Value:
    shape, dtype = known(args.array.shape), inexact(args.array.dtype)
    if shape is None or args.given("y") or args.constant("rowvar", True) is not True:
        return Value(None, dtype)
    return Value((shape[0], shape[0]) if len(shape) == 2 else (), dtype)


def _size(args: Arguments) -> Value:
    count = element_count(args.array.shape)
    if count is None or "axis" in args.bound:
        return ANYTHING
    return Value((), "int32*", count)


def _pair(args: Arguments) -> Value:
    part = Value(args.array.shape, inexact(args.array.dtype))
    return several(part, part)


def _density(args: Arguments) -> Value:
    """All that is given broadcasts; what is left out is a number."""
    given = list(args.bound.values())
    shape = broadcast(*(it.shape for it in given))
    return Value(shape, inexact_promoted(*(it.dtype for it in given)))


def _density_of_vectors(args: Arguments) -> Value:
    """A density for each vector: the last axis is gone."""
    dtype = inexact_promoted(*(it.dtype for it in args.bound.values()))
    vectors = broadcast(*(args.bound[it].shape for it in ("x", "mean") if it in args.bound))
    return Value(change_axis(vectors, -1, lambda _: ()) if vectors else vectors, dtype)


def _solution(args: Arguments) -> Value:
    """What solves a linear system has the shape of its right-hand side."""
    right = args["b"]
    return Value(right.shape, inexact(right.dtype))


def _factor(args: Arguments) -> Value:
    """A triangular matrix, and which half of it counts."""
    return several(Value(args.array.shape, inexact(args.array.dtype)), ANYTHING)


# The parameters of distributions between the value and location and scale.
_CONTINUOUS = {
    "norm": "",
    "laplace": "",
    "logistic": "",
    "expon": "",
    "cauchy": "",
    "uniform": "",
    "gamma": "a, ",
    "chi2": "df, ",
    "t": "df, ",
    "beta": "a, b, ",
    "truncnorm": "a, b, ",
}
_DISCRETE = {"poisson": "mu", "bernoulli": "p", "geom": "p"}
DISTRIBUTIONS = (*_CONTINUOUS, *_DISCRETE, "multivariate_normal")


_SYSTEMS: list[tuple[str, str, Rule]] = [
    ("cho_factor", "a, lower, overwrite_a, check_finite", _factor),
    ("cho_solve", "c_and_lower, b, overwrite_b, check_finite", _solution),
    ("solve_triangular", "a, b, trans, lower, unit_diagonal, overwrite_b", _solution),
    ("expm", "A, *, upper_triangular, max_squarings", of_square(lambda shape: shape)),
]


def _table() -> Table:
    segment = "data, segment_ids, num_segments, indices_are_sorted, unique_indices"
    rows: list[tuple[str, str, str, Rule]] = [
        ("jax.ops", "segment_sum segment_prod segment_max segment_min", segment, _segments),
        ("jax.image", "resize", "image, shape, method, antialias, precision", _resized),
        ("jax.scipy.stats.norm", "logcdf cdf logsf sf", "x, loc, scale", _density),
        *(
            (f"jax.scipy.stats.{name}", "logpdf pdf", f"x, {own}loc, scale", _density)
            for name, own in _CONTINUOUS.items()
        ),
        *(
            (f"jax.scipy.stats.{name}", "logpmf pmf", f"k, {own}, loc", _density)
            for name, own in _DISCRETE.items()
        ),
        (
            "jax.scipy.stats.multivariate_normal",
            "logpdf pdf",
            "x, mean, cov",
            _density_of_vectors,
        ),
        ("jax.lax", "batch_matmul", "lhs, rhs, precision", product(matmul)),
        ("jax.lax", "dot", "lhs, rhs, *, precision, preferred_element_type", product(dot)),
        *(("jax.scipy.linalg", *it) for it in _SYSTEMS),
        ("jax.lax.linalg", "triangular_solve", "a, b, *, left_side, lower", _solution),
        ("jax.numpy", "cov", "m, y, rowvar", _covariance),
        ("jax.numpy", "corrcoef", "x, y, rowvar", _covariance),
        ("jax.numpy", "resize", "a, new_shape", _repeated),
        ("jax.numpy", "size", "a, axis", _size),
        ("jax.numpy", "modf", "x, out", _pair),
        ("jax.numpy", "spacing", "x", pointwise(inexact)),
    ]
    table: Table = {}
    for module, names, signature, rule in rows:
        table.update(entries(module, names, signature, rule))
    return table


TABLE: Table = _table()
