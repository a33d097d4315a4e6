"""Random draws: their `shape` argument, or what their parameters broadcast to."""

from __future__ import annotations

from ..dims import Dim
from ..dtypes import DType
from ..shape import Shape, broadcast, change_axis, known, size_of
from ..values import ANYTHING, UNKNOWN, Value
from .arguments import Arguments
from .entries import Rule, Table, entries
from .rearranging import unchanged


def draw(*parameters: str, dtype: DType = "float32") -> Rule:
    """A rule for a distribution with these parameters, which broadcast if no shape is given.

    Those not named do not: their distribution draws a scalar by default.
    """

    def rule(args: Arguments) -> Value:
        return Value(_drawn(args, parameters), args.dtype("dtype", dtype))

    return rule


def _drawn(args: Arguments, parameters: tuple[str, ...]) -> Shape:
    if args.given("shape"):
        bounds = [args[name].shape for name in ("minval", "maxval") if args.given(name)]
        return args.sizes("shape") if all(it == () for it in bounds) else None
    return broadcast(*[args[name].shape for name in parameters if args.given(name)])


def _vectors(parameter: str) -> Rule:
    """Draws that are vectors as long as the last axis of a parameter."""

    def rule(args: Arguments) -> Value:
        length = size_of(args[parameter].shape, -1)
        dtype = args.dtype("dtype", "float32")
        if not args.given("shape"):
            batch = known(args[parameter].shape)
            if parameter == "mean" and known(args["cov"].shape) is None:
                return Value(None, dtype)
            if parameter == "mean" and len(known(args["cov"].shape) or ()) != 2:
                return Value(None, dtype)
            return Value(batch, dtype)
        sizes = args.sizes("shape")
        return Value((*sizes, length) if isinstance(sizes, tuple) else None, dtype)

    return rule


def _counts(args: Arguments) -> Value:
    """How often each of several outcomes came: as many as there are probabilities."""
    dtype = args.dtype("dtype", "float32")
    return Value(args.sizes("shape") if args.given("shape") else args["p"].shape, dtype)


def _categorical(args: Arguments) -> Value:
    if args.given("shape"):
        return Value(args.sizes("shape"), "int32")
    axis = args.axes("axis", -1)
    if type(axis) is not int:
        return Value(None, "int32")
    return Value(change_axis(args["logits"].shape, axis, lambda _: ()), "int32")


def _choice(args: Arguments) -> Value:
    sizes: Shape = args.sizes("shape") if args.given("shape") else ()
    axis, a = args.axes("axis", 0), args["a"]
    if a.shape == ():
        return Value(sizes, "int32")
    if type(axis) is not int or not isinstance(sizes, tuple):
        return Value(None, a.dtype)
    return Value(change_axis(a.shape, axis, lambda _: sizes), a.dtype)


def _permutation(args: Arguments) -> Value:
    x = args["x"]
    if x.shape == ():
        return Value((args.size("x"),), "int32")
    return Value(x.shape, x.dtype)


def _key(args: Arguments) -> Value:
    del args
    return Value((), "key")


def _legacy_key(args: Arguments) -> Value:
    """Two words with the default generator; others have four."""
    return Value((2 if "impl" not in args.bound else None,), "uint32")


def _words(args: Arguments) -> Value:
    """The words that a key is made of: two, but for other generators."""
    shape = known(args.array.shape)
    return Value(None if shape is None else (*shape, None), "uint32")


def _split(args: Arguments) -> Value:
    num: Shape = args.sizes("num") if "num" in args.bound else (2,)
    key = args["key"]
    shape = known(key.shape)
    if key.dtype is None or shape is None or not isinstance(num, tuple):
        return Value(None, key.dtype)
    return Value((*num, *shape), key.dtype)


def _orthogonal(args: Arguments) -> Value:
    sizes: Shape = args.sizes("shape") if args.given("shape") else ()
    dtype = args.dtype("dtype", "float32")
    rows: Dim = args.size("n")
    columns = args.size("m") if args.given("m") else rows
    if args.constant("m", None) is UNKNOWN or not isinstance(sizes, tuple):
        return Value(None, dtype)
    return Value((*sizes, rows, columns), dtype)


def _ball(args: Arguments) -> Value:
    sizes: Shape = args.sizes("shape") if args.given("shape") else ()
    if not isinstance(sizes, tuple):
        return ANYTHING
    return Value((*sizes, args.size("d")), args.dtype("dtype", "float32"))


def _table() -> Table:
    end = "shape, dtype, *, out_sharding"
    rows: list[tuple[str, str, Rule]] = [
        ("normal cauchy exponential laplace logistic maxwell", f"key, {end}", draw()),
        ("rademacher", f"key, {end}", draw(dtype="int32")),
        ("gumbel", "key, shape, dtype, mode, *, out_sharding", draw()),
        ("bits", f"key, {end}", draw(dtype="uint32")),
        ("uniform", "key, shape, dtype, minval, maxval, *, out_sharding", draw()),
        ("randint", "key, shape, minval, maxval, dtype, *, out_sharding", draw(dtype="int32")),
        ("truncated_normal", f"key, lower, upper, {end}", draw("lower", "upper")),
        ("bernoulli", "key, p, shape, mode, *, out_sharding", draw("p", dtype="bool")),
        ("beta", f"key, a, b, {end}", draw("a", "b")),
        ("gamma loggamma", f"key, a, {end}", draw("a")),
        ("chisquare t", f"key, df, {end}", draw("df")),
        ("f", f"key, dfnum, dfden, {end}", draw("dfnum", "dfden")),
        ("generalized_normal", f"key, p, {end}", draw()),
        ("geometric", f"key, p, {end}", draw("p", dtype="int32")),
        ("lognormal", f"key, sigma, {end}", draw("sigma")),
        ("pareto", f"key, b, {end}", draw("b")),
        ("poisson", f"key, lam, {end}", draw("lam", dtype="int32")),
        ("rayleigh", f"key, scale, {end}", draw("scale")),
        ("triangular", f"key, left, mode, right, {end}", draw("left", "mode", "right")),
        ("wald", f"key, mean, {end}", draw("mean")),
        ("weibull_min", "key, scale, concentration, shape, dtype", draw()),
        ("double_sided_maxwell", "key, loc, scale, shape, dtype", draw()),
        ("binomial", "key, n, p, shape, dtype", draw("n", "p")),
        ("multinomial", "key, n, p, *, shape, dtype, unroll", _counts),
        ("dirichlet", f"key, alpha, {end}", _vectors("alpha")),
        (
            "multivariate_normal",
            "key, mean, cov, shape, dtype, method, *, out_sharding",
            _vectors("mean"),
        ),
        ("categorical", "key, logits, axis, shape, replace, mode, *, out_sharding", _categorical),
        ("choice", "key, a, shape, replace, p, axis, mode", _choice),
        ("permutation", "key, x, axis, independent, *, out_sharding", _permutation),
        ("orthogonal", "key, n, shape, dtype, m, *, out_sharding", _orthogonal),
        ("ball", f"key, d, p, {end}", _ball),
        ("key", "seed, *, impl", _key),
        ("PRNGKey", "seed, *, impl", _legacy_key),
        ("split", "key, num", _split),
        ("fold_in", "key, data", unchanged),
        ("clone", "key", unchanged),
        ("key_data", "keys", _words),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries("jax.random", names, signature, rule))
    return table


TABLE: Table = _table()
