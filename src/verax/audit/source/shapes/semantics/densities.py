"""Densities and distribution functions of `jax.scipy.stats`: one number for each element."""

from __future__ import annotations

from ..shape import broadcast, change_axis
from ..values import Value
from .arguments import Arguments
from .entries import Table, entries
from .pointwise import inexact_promoted


def _density(args: Arguments) -> Value:
    """All that is given broadcasts; what is left out is a number."""
    given = list(args.bound.values())
    shape = broadcast(*(it.shape for it in given))
    return Value(shape, inexact_promoted(*(it.dtype for it in given)))


def _of_vectors(args: Arguments) -> Value:
    """A density for each vector: the last axis is gone."""
    dtype = inexact_promoted(*(it.dtype for it in args.bound.values()))
    vectors = broadcast(*(args.bound[it].shape for it in ("x", "mean") if it in args.bound))
    return Value(change_axis(vectors, -1, lambda _: ()) if vectors else vectors, dtype)


def _one(args: Arguments) -> Value:
    """A density of one vector of counts."""
    return Value((), inexact_promoted(*(it.dtype for it in args.bound.values())))


_BOTH_ENDS = "cdf logcdf sf logsf"
# The parameters of distributions between the value and location and scale, and what else than
# densities there is of them.
_CONTINUOUS = {
    "norm": ("", _BOTH_ENDS),
    "laplace": ("", "cdf"),
    "logistic": ("", "cdf sf"),
    "expon": ("", _BOTH_ENDS),
    "cauchy": ("", _BOTH_ENDS),
    "uniform": ("", "cdf"),
    "gumbel_l": ("", _BOTH_ENDS),
    "gumbel_r": ("", _BOTH_ENDS),
    "gamma": ("a, ", _BOTH_ENDS),
    "pareto": ("b, ", _BOTH_ENDS),
    "chi2": ("df, ", _BOTH_ENDS),
    "t": ("df, ", ""),
    "beta": ("a, b, ", _BOTH_ENDS),
    "truncnorm": ("a, b, ", _BOTH_ENDS),
}
_WITHOUT_LOCATION = {"gennorm": "beta", "vonmises": "kappa", "wrapcauchy": "c"}
_DISCRETE = {
    "poisson": "mu",
    "bernoulli": "p",
    "geom": "p",
    "binom": "n, p",
    "nbinom": "n, p",
    "betabinom": "n, a, b",
}
# By the probability that is left of them.
_QUANTILES = {"norm": "ppf isf", "cauchy": "ppf isf", "uniform": "ppf", "expon": "ppf"}
DISTRIBUTIONS = (
    *_CONTINUOUS,
    *_WITHOUT_LOCATION,
    *_DISCRETE,
    "multivariate_normal",
    "dirichlet",
    "multinomial",
)


def _elementwise() -> Table:
    rows: list[tuple[str, str, str]] = []
    for name, (own, others) in _CONTINUOUS.items():
        rows.append((name, f"logpdf pdf {others}", f"x, {own}loc, scale"))
    rows += [(name, "logpdf pdf", f"x, {own}") for name, own in _WITHOUT_LOCATION.items()]
    rows += [(name, "logpmf pmf", f"k, {own}, loc") for name, own in _DISCRETE.items()]
    rows += [(name, names, "q, loc, scale") for name, names in _QUANTILES.items()]
    rows += [("logistic", "ppf isf", "x, loc, scale"), ("poisson", "cdf", "k, mu, loc")]
    table: Table = {}
    for name, functions, signature in rows:
        table.update(entries(f"jax.scipy.stats.{name}", functions, signature, _density))
    return table


ELEMENTWISE: Table = _elementwise()
TABLE: Table = {
    **ELEMENTWISE,
    **dict(
        entries(
            "jax.scipy.stats.multivariate_normal",
            "logpdf pdf",
            "x, mean, cov",
            _of_vectors,
        )
    ),
    **dict(entries("jax.scipy.stats.multinomial", "logpmf pmf", "x, n, p", _one)),
}
