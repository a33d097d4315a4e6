"""Which rule follows the axes through which primitive.

A primitive that is missing here gives axes of which nothing is known, never wrong ones. Some names
exist only in some releases of JAX.
"""

from __future__ import annotations

from . import contraction, elementwise, indexing, numerics, shapes
from .analysis import Rule

_ELEMENTWISE = """
    abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e
    bitcast_convert_type cbrt ceil clamp clz complex conj convert_element_type copy copy_p cos cosh
    digamma div eq eq_to erf erf_inv erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a igammac
    imag
    integer_pow is_finite le le_to lgamma log log1p log2 logistic lt lt_to max min mul mulhi ne neg
    nextafter not one_minus_square or polygamma polynomial population_count pow random_fold_in
    random_gamma_grad real reduce_precision regularized_incomplete_beta rem round rsqrt select_n
    shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square stop_gradient
    sub tan tanh tie xor zeta zeros_like
"""

_LIKE_THE_FIRST = """
    cumlogsumexp cummax cummin cumprod cumsum cholesky cholesky_update dce_sink
    layout_constraint name pad rev select_and_gather_add select_and_scatter_add
    reshard tridiagonal_solve
"""

_LIKE_EACH = """
    device_put optimization_barrier pbroadcast pcast pmax pmin ppermute preduced psum psum2
    psum_invariant pvary random_clone sharding_constraint copy_to_reduced
"""

_WINDOWS = "reduce_window reduce_window_max reduce_window_min reduce_window_sum"

_REDUCTIONS = """
    argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
    reduce
"""

_FACTORISATIONS = "eig eigh geqp3 geqrf hessenberg householder_product lu qr schur svd tridiagonal"

_SCATTERS = "scatter scatter-add scatter-max scatter-min scatter-mul scatter-sub"

_KEYS = "random_bits random_seed random_split random_unwrap random_wrap random_gamma threefry2x32"


def _each(names: str, rule: Rule) -> dict[str, Rule]:
    return dict.fromkeys(names.split(), rule)


RULES: dict[str, Rule] = {
    **_each(_ELEMENTWISE, elementwise.elementwise),
    **_each(_LIKE_THE_FIRST, elementwise.first_only),
    **_each(_LIKE_EACH, elementwise.same),
    **_each(_REDUCTIONS, shapes.reduce),
    **_each(_WINDOWS, shapes.pool),
    **_each(_SCATTERS, indexing.scatter),
    **_each(_FACTORISATIONS, numerics.stacked_matrices),
    **_each(_KEYS, numerics.leading),
    "all_gather": numerics.all_gather,
    "all_gather_invariant": numerics.all_gather,
    "approx_top_k": indexing.top_k,
    "broadcast_in_dim": shapes.broadcast_in_dim,
    "concatenate": shapes.concatenate,
    "conv_general_dilated": contraction.convolution,
    "dot_general": contraction.dot_general,
    "dynamic_slice": indexing.part,
    "dynamic_update_slice": indexing.update,
    "expand_dims": shapes.expand_dims,
    "fft": numerics.spectrum,
    "gather": indexing.gather,
    "reshape": shapes.reshape,
    "slice": indexing.part,
    "stack": shapes.stack,
    "sort": elementwise.together,
    "split": shapes.split,
    "squeeze": shapes.squeeze,
    "tile": shapes.tile,
    "top_k": indexing.top_k,
    "transpose": shapes.transpose,
    "triangular_solve": numerics.triangular_solve,
    "unstack": shapes.unstack,
}

# Understood, and their results are new axes indeed.
FRESH = frozenset(
    """
    axis_index create_token debug_callback debug_print empty io_callback iota iota_2x32_shape
    pure_callback rng_bit_generator rng_uniform
    """.split()
)

# Not followed: their results have axes of which nothing is known.
UNKNOWN = frozenset(
    """
    after_all all_to_all custom_lin custom_linear_solve empty2 get ragged_all_to_all
    select_and_scatter swap xla_pmap
    """.split()
)
