"""Functions of one element at a time: shapes broadcast, types are promoted."""

from __future__ import annotations

from collections.abc import Callable

from ..dtypes import DType, inexact, promote, real
from ..shape import broadcast
from ..values import Value, several
from .arguments import Arguments
from .entries import Rule, Table, entries, function


def pointwise(dtype: Callable[..., DType], count: int = 1) -> Rule:
    """A rule for functions whose first `count` arguments are arrays."""

    def rule(args: Arguments) -> Value:
        arrays = args.leading(count)
        if len(arrays) == 1:
            return Value(arrays[0].shape, dtype(arrays[0].dtype))
        return Value(
            broadcast(*[array.shape for array in arrays]),
            dtype(*[array.dtype for array in arrays]),
        )

    return rule


def kept(dtype: DType) -> DType:
    """The same type as the argument."""
    return dtype


def truth(*_: DType) -> DType:
    """Comparisons and predicates."""
    return "bool"


def inexact_promoted(*dtypes: DType) -> DType:
    """The type of a true division."""
    return inexact(promote(*dtypes))


def real_inexact(dtype: DType) -> DType:
    """The type of an angle."""
    return real(inexact(dtype))


def _where(args: Arguments) -> Value:
    if not args.given("x") and not args.given("y"):
        return nonzero(args)
    condition, x, y = args.array, args["x"], args["y"]
    return Value(broadcast(condition.shape, x.shape, y.shape), promote(x.dtype, y.dtype))


def nonzero(args: Arguments) -> Value:
    """One vector of indices per axis, as long as only running tells unless `size` does."""
    shape = args.array.shape
    if not isinstance(shape, tuple):
        return Value()
    return several(*[Value((args.size("size"),), "int32")] * max(len(shape), 1))


def _clip(args: Arguments) -> Value:
    bounds = [args[name] for name in ("min", "max", "a_min", "a_max") if args.given(name)]
    return Value(
        broadcast(args.array.shape, *[bound.shape for bound in bounds]),
        promote(args.array.dtype, *[bound.dtype for bound in bounds]),
    )


def _isclose(args: Arguments) -> Value:
    return Value(broadcast(args["a"].shape, args["b"].shape), "bool")


def _pair(args: Arguments) -> Value:
    both = pointwise(promote, 2)(args)
    return several(both, both)


UNARY_INEXACT = """
    acos acosh arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh cbrt cos cosh
    deg2rad degrees exp exp2 expm1 fabs i0 log log10 log1p log2 rad2deg radians rint sin sinc sinh
    sqrt tan tanh
"""
UNARY_KEPT = """
    bitwise_invert bitwise_not ceil conj conjugate floor invert negative positive
    reciprocal sign square trunc
"""
UNARY_TRUTH = """
    iscomplex isfinite isinf isnan isneginf isposinf isreal logical_not signbit
"""
BINARY_PROMOTED = """
    add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor floor_divide
    fmod left_shift maximum minimum mod multiply pow power remainder right_shift
    subtract
"""
BINARY_INEXACT = """
    arctan2 atan2 copysign divide float_power heaviside hypot logaddexp logaddexp2 nextafter
    true_divide
"""
BINARY_TRUTH = """
    equal greater greater_equal less less_equal logical_and logical_or logical_xor not_equal
"""

SPECIAL_UNARY = """
    dawsn digamma entr erf erfc erfcinv erfcx erfinv exp1 expi expit factorial gamma
    gammaln gammasgn i0 i0e i1 i1e log_ndtr loggamma logit ndtr ndtri spence
"""
SPECIAL_BINARY = {
    "a, b": "beta betaln",
    "a, x": "gammainc gammaincc",
    "h, a": "owens_t",
    "n, x": "polygamma",
    "p, q": "kl_div rel_entr",
    "x, lmbda": "boxcox boxcox1p",
    "x, q": "zeta",
    "x, y": "xlog1py xlogy",
    "z, m": "poch",
}

# Python's operators on arrays, by the names of the module `operator`.
OPERATORS = {
    "promoted": "add sub mul floordiv mod pow and_ or_ xor lshift rshift",
    "inexact": "truediv",
    "truth": "eq ne lt le gt ge",
}


def _numpy() -> Table:
    module = "jax.numpy"
    table: Table = {
        **dict(entries(module, UNARY_INEXACT, "x", pointwise(inexact))),
        **dict(entries(module, UNARY_KEPT, "x", pointwise(kept))),
        **dict(entries(module, UNARY_TRUTH, "x", pointwise(truth))),
        **dict(entries(module, BINARY_PROMOTED, "x, y", pointwise(promote, 2))),
        **dict(entries(module, "fmax fmin gcd lcm", "x1, x2", pointwise(promote, 2))),
        **dict(entries(module, BINARY_INEXACT, "x, y", pointwise(inexact_promoted, 2))),
        **dict(entries(module, BINARY_TRUTH, "x, y", pointwise(truth, 2))),
        **dict(entries(module, "abs absolute", "x", pointwise(real))),
        **dict(entries(module, "real imag", "val", pointwise(real))),
        **dict(entries(module, "around round", "a, decimals, out", pointwise(kept))),
        "jax.numpy.bitwise_count": function("x", pointwise(lambda _: "uint8")),
        "jax.numpy.angle": function("z, deg", pointwise(real_inexact)),
        "jax.numpy.divmod": function("x1, x2", _pair),
        "jax.numpy.nan_to_num": function("x, copy, nan, posinf, neginf", pointwise(kept)),
        "jax.numpy.clip": function("arr, min, max, *, a, a_min, a_max", _clip),
        "jax.numpy.where": function("condition, x, y, *, size, fill_value", _where),
        "jax.numpy.isclose": function("a, b, rtol, atol, equal_nan", _isclose),
        "jax.numpy.ldexp": function("x1, x2", pointwise(lambda x, _: inexact(x), 2)),
    }
    return table


def _operators() -> Table:
    rules = {"promoted": promote, "inexact": inexact_promoted, "truth": truth}
    table: Table = {}
    for kind, names in OPERATORS.items():
        table.update(entries("operator", names, "a, b", pointwise(rules[kind], 2)))
    table.update(entries("operator", "neg pos invert", "a", pointwise(kept)))
    table["operator.abs"] = function("a", pointwise(real))
    return table


def _special() -> Table:
    module = "jax.scipy.special"
    ternary = pointwise(inexact_promoted, 3)
    table: Table = {}
    for signature, names in SPECIAL_BINARY.items():
        table.update(entries(module, names, signature, pointwise(inexact_promoted, 2)))
    return {
        **table,
        **dict(entries(module, SPECIAL_UNARY, "x", pointwise(inexact))),
        **dict(entries(module, "betainc hyp1f1", "a, b, x", ternary)),
        f"{module}.hyp2f1": function("a, b, c, x", pointwise(inexact_promoted, 4)),
        f"{module}.multigammaln": function("a, d", pointwise(inexact)),
    }


TABLE: Table = {**_numpy(), **_operators(), **_special()}
