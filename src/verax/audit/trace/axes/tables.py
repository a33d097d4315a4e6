"""Which rule follows the axes through which primitive.

A primitive that is missing here gives axes of which nothing is known, never wrong ones.
"""

from __future__ import annotations

from . import contraction, elementwise, indexing, shapes
from .analysis import Rule

_ELEMENTWISE = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e bitcast_convert_type
cbrt ceil clz complex conj convert_element_type copy copy_p cos cosh digamma div eq eq_to erf erf_inv
erfc exp exp2 expm1 floor ge gt igamma igamma_grad_a igammac imag integer_pow is_finite le lgamma log
log1p logistic lt lt_to le_to max min mul ne neg nextafter not one_minus_square or polygamma
population_count pow random_gamma_grad real reduce_precision regularized_incomplete_beta rem round
rsqrt select_n shift_left shift_right_arithmetic shift_right_logical sign sin sinh sqrt square
stop_gradient sub tan tanh xor zeta nan_to_num pvary pcast sharding_constraint optimization_barrier_one
"""

_LIKE_THE_FIRST = """
cumlogsumexp cummax cummin cumprod cumsum rev pad reduce_window_sum reduce_window_max
reduce_window_min clamp cholesky convert_element_type copy
"""

_LIKE_EACH = """
psum psum2 psum_invariant pmax pmin pmean ppermute pbroadcast optimization_barrier
device_put sharding_constraint random_wrap_each
"""

_REDUCTIONS = """
argmax argmin reduce_and reduce_max reduce_min reduce_or reduce_prod reduce_sum reduce_xor
"""

_SCATTERS = """
scatter scatter_add scatter-add scatter_mul scatter-mul scatter_min scatter-min scatter_max scatter-max
scatter_sub scatter-sub
"""

RULES: dict[str, Rule] = {
    **dict.fromkeys(_LIKE_THE_FIRST.split(), elementwise.first_only),
    **dict.fromkeys(_LIKE_EACH.split(), elementwise.same),
    **dict.fromkeys(_ELEMENTWISE.split(), elementwise.elementwise),
    **dict.fromkeys(_REDUCTIONS.split(), shapes.reduce),
    **dict.fromkeys(_SCATTERS.split(), indexing.scatter),
    "sort": elementwise.together,
    "transpose": shapes.transpose,
    "squeeze": shapes.squeeze,
    "broadcast_in_dim": shapes.broadcast_in_dim,
    "expand_dims": shapes.expand_dims,
    "reshape": shapes.reshape,
    "concatenate": shapes.concatenate,
    "split": shapes.split,
    "slice": indexing.part,
    "dynamic_slice": indexing.part,
    "dynamic_update_slice": indexing.update,
    "gather": indexing.gather,
    "top_k": indexing.top_k,
    "dot_general": contraction.dot_general,
    "conv_general_dilated": contraction.convolution,
}
