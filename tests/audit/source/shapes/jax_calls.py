"""Calls of random draws, activations, `jax.lax`, windows and functions of one element."""

import jax

from verax.audit.source.shapes.semantics import lax, pointwise

from .calling import BF16, C64, I32, KEY, A, Call, call, cube, ints, mask, places, v, x


def random_calls() -> list[Call]:
    r = "jax.random."
    calls = [
        call(r + name, KEY, (5, 7))
        for name in (
            "normal cauchy exponential laplace logistic maxwell rademacher gumbel bits uniform"
        ).split()
    ]
    shaped = {
        "truncated_normal": (-1.0, 1.0),
        "beta": (1.0, 2.0),
        "gamma": (1.0,),
        "loggamma": (1.0,),
        "chisquare": (2.0,),
        "t": (2.0,),
        "f": (1.0, 2.0),
        "generalized_normal": (2.0,),
        "geometric": (0.5,),
        "pareto": (2.0,),
        "poisson": (2.0,),
        "rayleigh": (2.0,),
        "triangular": (0.0, 0.5, 1.0),
        "wald": (1.0,),
        "weibull_min": (1.0, 2.0),
        "double_sided_maxwell": (0.0, 1.0),
        "binomial": (10.0, 0.5),
        "bernoulli": (0.5,),
        "lognormal": (1.0,),
    }
    calls += [call(r + name, KEY, *numbers, shape=(5, 7)) for name, numbers in shaped.items()]
    no_shape = ("generalized_normal", "lognormal", "weibull_min", "double_sided_maxwell", "t")
    calls += [
        call(r + name, KEY, *([v] * len(numbers)))
        for name, numbers in shaped.items()
        if name not in no_shape
    ]
    return [
        *calls,
        call(r + "normal", KEY),
        call(r + "normal", KEY, (5,), "bfloat16"),
        call(r + "uniform", KEY, (5,), minval=-1.0, maxval=1.0),
        call(r + "randint", KEY, (5,), 0, 9),
        call(r + "bernoulli", KEY),
        call(r + "dirichlet", KEY, v, (5,)),
        call(r + "dirichlet", KEY, x),
        call(r + "multivariate_normal", KEY, v, A(7, 7)),
        call(r + "multivariate_normal", KEY, v, A(7, 7), (5,)),
        call(r + "categorical", KEY, cube),
        call(r + "categorical", KEY, cube, axis=1),
        call(r + "categorical", KEY, v, shape=(5,)),
        call(r + "choice", KEY, 5),
        call(r + "choice", KEY, 5, (3,)),
        call(r + "choice", KEY, x, (3, 2), axis=1),
        call(r + "permutation", KEY, 5),
        call(r + "permutation", KEY, x),
        call(r + "orthogonal", KEY, 5),
        call(r + "ball", KEY, 3, shape=(5,)),
        call(r + "key", 0),
        call(r + "PRNGKey", 0),
        call(r + "split", KEY),
        call(r + "split", KEY, 5),
        call(r + "split", KEY, (5, 3)),
        call(r + "fold_in", KEY, 3),
        call(r + "clone", KEY),
    ]


def nn_calls() -> list[Call]:
    n = "jax.nn."
    unary = (
        "hard_sigmoid hard_silu hard_swish hard_tanh log_sigmoid mish relu6 sigmoid silu soft_sign "
        "softplus sparse_plus sparse_sigmoid swish tanh selu relu identity celu elu gelu "
        "leaky_relu softmax log_softmax standardize"
    )
    calls = [call(n + name, x) for name in unary.split()]
    calls += [call(n + name, A(5, dtype=BF16)) for name in unary.split()]
    return [
        *calls,
        call(n + "log1mexp", x),
        call(n + "relu", ints),
        call(n + "softmax", cube, axis=1),
        call(n + "softmax", cube, axis=(0, 1)),
        call(n + "squareplus", x, 2.0),
        call(n + "glu", A(5, 8)),
        call(n + "one_hot", places, 10),
        call(n + "one_hot", ints, 10, axis=0, dtype="int32"),
        call(n + "logsumexp", x),
        call(n + "logsumexp", x, axis=-1, keepdims=True),
        call(n + "logmeanexp", x, 0),
        call(n + "dot_product_attention", A(5, 7, 2, 3), A(5, 11, 2, 3), A(5, 11, 2, 3)),
        call("jax.scipy.special.logsumexp", x, 1),
        call("jax.scipy.special.logsumexp", x, 1, return_sign=True),
        call("jax.scipy.special.softmax", x, axis=0),
        call("jax.scipy.special.log_softmax", x, axis=0),
        call("jax.scipy.special.multigammaln", x, 2),
    ]


def lax_calls() -> list[Call]:
    n = "jax.lax."
    inexact_only = [
        name for name in lax.UNARY.split() if name not in "bitwise_not clz population_count"
    ]
    calls = [call(n + name, x) for name in inexact_only]
    calls += [call(n + name, ints) for name in "bitwise_not clz population_count neg sign".split()]
    calls += [call(n + name, x) for name in lax.ACCURATE.split()]
    of_integers = [name for name in lax.BINARY.split() if name.startswith(("bitwise", "shift"))]
    calls += [
        call(n + name, *[ints if name in of_integers else x] * 2) for name in lax.BINARY.split()
    ]
    calls += [
        call(n + "reduce_precision", x, 8, 7),
        call(n + "complex", x, x),
        call(n + "betainc", x, x, x),
        call(n + "polygamma", x, x),
        call(n + "igamma_grad_a", x, x),
        call(n + "select_n", mask, x, x),
        call(n + "approx_max_k", x, 3),
        call(n + "approx_min_k", x, 3, 0),
        call(n + "tile", x, (2, 3)),
        call(n + "ragged_dot", x, A(3, 7, 11), A(3, dtype=I32)),
    ]
    calls += [call(n + name, x, x) for name in lax.COMPARISONS.split()]
    return [
        *calls,
        call(n + "abs", x),
        call(n + "real", A(5, dtype=C64)),
        call(n + "imag", A(5, dtype=C64)),
        call(n + "igamma", x, x),
        call(n + "igammac", x, x),
        call(n + "zeta", x, x),
        call(n + "is_finite", x),
        call(n + "conj", x),
        call(n + "integer_pow", x, 2),
        call(n + "round", x),
        call(n + "nextafter", x, x),
        call(n + "reduce_sum", cube, (0, 2)),
        call(n + "reduce_max", cube, (1,)),
        call(n + "reduce_min", cube, (1,)),
        call(n + "reduce_prod", cube, (1,)),
        call(n + "reduce_and", mask, (1,)),
        call(n + "reduce", x, A(), jax.lax.add, (1,)),
        call(n + "reduce_or", mask, (1,)),
        call(n + "reduce_xor", mask, (1,)),
        call(n + "argmax", x, 1, "int32"),
        call(n + "argmin", x, 1, "int32"),
        call(n + "select", mask, x, x),
        call(n + "clamp", 0.0, x, 1.0),
        call(n + "cumsum", x),
        call(n + "cumprod", x, 1),
        call(n + "cummax", x, 1),
        call(n + "cummin", x, 1),
        call(n + "cumlogsumexp", x, 1),
        call(n + "top_k", x, 3),
        call(n + "sort", x),
        call(n + "sort_key_val", v, A(7, dtype=I32)),
        call(n + "rev", x, (0,)),
        call(n + "concatenate", [x, A(5, 3)], 1),
        call(n + "split", x, (3, 4), axis=1),
        call(n + "reshape", x, (35,)),
        call(n + "transpose", cube, (2, 0, 1)),
        call(n + "expand_dims", x, (0,)),
        call(n + "squeeze", A(5, 1), (1,)),
        call(n + "collapse", cube, 0, 2),
        call(n + "collapse", cube, 1),
        call(n + "broadcast", x, (3, 2)),
        call(n + "broadcast_in_dim", v, (5, 7), (1,)),
        call(n + "broadcasted_iota", "int32", (5, 7), 1),
        call(n + "iota", "int32", 5),
        call(n + "full", (5,), 1.0),
        call(n + "full", (5,), 1.0, "int32"),
        call(n + "full_like", x, 0),
        call(n + "convert_element_type", x, "int32"),
        call(n + "dynamic_slice", x, (0, 1), (2, 3)),
        call(n + "dynamic_slice_in_dim", x, 1, 3, axis=1),
        call(n + "dynamic_index_in_dim", x, 1, axis=1, keepdims=False),
        call(n + "dynamic_index_in_dim", x, 1),
        call(n + "index_in_dim", x, 1, 0, False),
        call(n + "dynamic_update_slice", x, A(2, 2), (0, 1)),
        call(n + "dynamic_update_slice_in_dim", x, A(2, 7), 0, 0),
        call(n + "dynamic_update_index_in_dim", x, v, 0, 0),
        call(n + "slice", x, (0, 1), (2, 5)),
        call(n + "slice", x, (0, 1), (4, 5), (2, 2)),
        call(n + "slice_in_dim", x, 1, 5, axis=1),
        call(n + "slice_in_dim", x, 1, None, 2, axis=1),
        call(n + "pad", x, 0.0, ((0, 1, 0), (1, 2, 1))),
        call(n + "optimization_barrier", x),
    ]


def pointwise_calls() -> list[Call]:
    n, s = "jax.numpy.", "jax.scipy.special."
    integers = "bitwise_invert bitwise_not invert"
    calls: list[Call] = []
    for name in f"{pointwise.UNARY_INEXACT} {pointwise.UNARY_KEPT} {pointwise.UNARY_TRUTH}".split():
        if name not in integers.split():
            calls += [call(n + name, x), call(n + name, A(5, dtype=BF16))]
        if name not in ("reciprocal",):
            calls.append(call(n + name, ints))
    for name in pointwise.BINARY_PROMOTED.split():
        first = ints if name.startswith(("bitwise", "left", "right")) else x
        calls += [call(n + name, first, ints), call(n + name, ints, 3)]
    for name in pointwise.BINARY_INEXACT.split() + pointwise.BINARY_TRUTH.split():
        calls += [call(n + name, x, v), call(n + name, ints, 3), call(n + name, x, ints)]
    for name in pointwise.SPECIAL_UNARY.split():
        calls.append(call(s + name, x))
    for names in pointwise.SPECIAL_BINARY.values():
        calls += [call(s + name, x, v) for name in names.split() if name != "polygamma"]
    calls += [call(s + name, x, x, x) for name in ("betainc", "hyp1f1")]
    calls.append(call(s + "polygamma", ints, x))
    calls.append(call(s + "hyp2f1", x, x, x, x))
    for kind, names in pointwise.OPERATORS.items():
        for name in names.split():
            both = [mask, mask] if name in ("and_", "or_", "xor") else [x, v]
            both = [ints, ints] if name in ("lshift", "rshift") else both
            calls.append(call("operator." + name, *both))
            calls.append(call("operator." + name, ints, 1 if kind == "promoted" else 2.0))
    calls += [call("operator.neg", x), call("operator.pos", x), call("operator.invert", mask)]
    return [*calls, call("operator.abs", A(5, dtype=C64))]


def elsewhere_calls() -> list[Call]:
    calls: list[Call] = []
    for name in "segment_sum segment_prod segment_max segment_min".split():
        calls += [
            call("jax.ops." + name, cube, places, 9),
            call("jax.ops." + name, x, places, num_segments=9),
        ]
    return [
        *calls,
        call("jax.image.resize", cube, (8, 9, 11), "bilinear"),
        call(
            "jax.image.scale_and_translate",
            *(cube, (8, 9, 11), (0, 1), A(2), A(2), "linear"),
        ),
        call("jax.numpy.resize", x, (3, 4)),
        call("jax.numpy.modf", x),
        call("jax.numpy.spacing", x),
    ]


def window_calls() -> list[Call]:
    n = "jax.lax."
    image, kernel = A(2, 9, 8, 3), A(3, 3, 3, 6)
    layout = ("NHWC", "HWIO", "NHWC")
    pooled = (image, 0.0, jax.lax.add)
    return [
        call(n + "conv_general_dilated", image, kernel, (2, 2), "SAME", dimension_numbers=layout),
        call(n + "conv_general_dilated", image, kernel, (2, 1), "VALID", dimension_numbers=layout),
        call(n + "conv_general_dilated", A(2, 3, 9, 8), A(6, 3, 3, 3), (1, 1), "SAME"),
        call(n + "conv", A(2, 3, 9), A(6, 3, 4), (1,), "VALID"),
        call(n + "conv_with_general_padding", A(2, 3, 9), A(6, 3, 4), (1,), "SAME", None, None),
        call(n + "reduce_window", *pooled, (1, 9, 8, 1), (1, 1, 1, 1), "VALID"),
        call(n + "reduce_window", *pooled, (1, 2, 3, 1), (1, 2, 2, 1), "SAME"),
    ]
