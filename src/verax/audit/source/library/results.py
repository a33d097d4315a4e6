"""What other libraries give for tracers, as far as the names of their functions tell: tracers.

Anything may come out of a function of which nothing is known: a size, a name, a list. Of these it
is known that they compute on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..values import Data, Value, leaves

_OF_OPTAX = (
    "global_norm safe_norm safe_root_mean_squares safe_increment safe_int32_increment "
    "softmax_cross_entropy softmax_cross_entropy_with_integer_labels cosine_similarity "
    "cosine_distance kl_divergence convex_kl_divergence kl_divergence_with_log_targets ctc_loss "
    "ntxent triplet_margin_loss ranking_softmax_loss sigmoid_focal_loss squared_error l2_loss "
    "multiclass_hinge_loss safe_softmax_cross_entropy make_fenchel_young_loss"
).split()
_OF_TREES = "l2_norm norm sum vdot max min allclose l1_norm linf_norm".split()
_OF_RLAX = (
    "l2_loss huber_loss log_loss likelihood td_learning td_lambda sarsa expected_sarsa "
    "sarsa_lambda q_learning double_q_learning persistent_q_learning qv_learning qv_max "
    "q_lambda retrace vtrace leaky_vtrace lambda_returns discounted_returns "
    "n_step_bootstrapped_returns general_off_policy_returns_from_q_and_v "
    "truncated_generalized_advantage_estimation importance_corrected_td_errors "
    "policy_gradient_loss dpg_loss entropy_loss clipped_surrogate_pg_loss qpg_loss rm_loss "
    "categorical_td_learning categorical_q_learning categorical_double_q_learning "
    "quantile_q_learning quantile_expected_sarsa transform_to_2hot transform_from_2hot "
    "signed_hyperbolic signed_parabolic batched_index one_hot lhs_broadcast"
).split()
_FUNCTIONS = frozenset(
    (
        *(f"optax.{it}" for it in _OF_OPTAX),
        *(f"optax.losses.{it}" for it in _OF_OPTAX),
        *(f"optax.tree_utils.tree_{it}" for it in _OF_TREES),
        *(f"optax.tree.{it}" for it in _OF_TREES),
        *(f"rlax.{it}" for it in _OF_RLAX),
        *(f"flax.linen.{it}" for it in ("max_pool", "avg_pool", "min_pool")),
        *(f"flax.linen.{it}" for it in ("dot_product_attention", "make_attention_mask")),
        *(f"haiku.{it}" for it in "dropout max_pool avg_pool one_hot".split()),
        "jax.device_put",
    )
)
# What they give is a tree like one that they are given.
_TREES = ("optax.tree_utils.tree_", "optax.tree.", "optax.incremental_update")
# Functions that these give compute on arrays as well.
_MAKERS = frozenset(("jax.vjp", "jax.linearize", "jax.flatten_util.ravel_pytree"))
_DISTRIBUTIONS = ("distrax.", "numpyro.distributions.", "tensorflow_probability.")
# What a distribution is asked for.
_OF_DISTRIBUTIONS = frozenset(
    "log_prob prob cdf log_cdf entropy kl_divergence cross_entropy mean mode median stddev "
    "variance sample rsample icdf quantile forward inverse forward_log_det_jacobian "
    "inverse_log_det_jacobian".split()
)
_LIBRARIES_OF_LAYERS = ("equinox.nn.", "flax.linen.", "flax.nnx.", "haiku.")
_LAYERS = frozenset(
    "Linear MLP Dense DenseGeneral LinearGeneral Einsum LayerNorm RMSNorm GroupNorm InstanceNorm "
    "Conv Conv1d Conv2d Conv3d Conv1D Conv2D Conv3D ConvTranspose ConvTranspose1d "
    "ConvTranspose2d Conv2DTranspose Dropout Embed Embedding PReLU Identity Flatten AvgPool "
    "AvgPool1d AvgPool2d MaxPool MaxPool1d MaxPool2d AdaptiveAvgPool2d "
    "MultiheadAttention MultiHeadAttention MultiHeadDotProductAttention SelfAttention".split()
)


def learn(result: Data, name: str, operands: Iterable[Value]) -> None:
    """Say of a function's result that it is a tracer, where it is given one and computes on it."""
    last = name.rpartition(".")[2]
    is_array, is_tree = name in _FUNCTIONS, name.startswith(_TREES)
    if name.startswith(_DISTRIBUTIONS):
        is_array, is_tree = last in _OF_DISTRIBUTIONS, last[:1].isupper() or "_and_" in last
    if (is_array or is_tree) and _has_tracer(operands):
        result.traced, result.is_array = True, is_array


def learn_applied(result: Data, made_by: str, operands: Iterable[Value]) -> None:
    """Say so of what a layer gives, or a function that a library has made."""
    last = made_by.rpartition(".")[2]
    is_layer = made_by.startswith(_LIBRARIES_OF_LAYERS) and last in _LAYERS
    is_schedule = made_by.startswith("optax.") and last.endswith(("schedule", "_decay"))
    if (is_layer or is_schedule or made_by in _MAKERS) and _has_tracer(operands):
        result.traced, result.is_array = True, made_by not in _MAKERS


def _has_tracer(operands: Iterable[Value]) -> bool:
    return any(leaf.traced for value in operands for leaf in leaves(value))
