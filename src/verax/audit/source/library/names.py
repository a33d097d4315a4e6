"""One name for each thing that a library offers under several."""

from __future__ import annotations

from functools import lru_cache

from ..values import NONE, External, Value

# Longest first; a prefix is replaced by the name that the tables use.
_PREFIXES = (
    ("jax.experimental.shard_map.shard_map", "jax.shard_map"),
    ("jax.experimental.maps.", "jax."),
    ("jax.interpreters.ad.", "jax.ad."),
    ("jax.ad_checkpoint.checkpoint", "jax.checkpoint"),
    ("jax._src.numpy.lax_numpy.", "jax.numpy."),
    ("jax._src.lax.lax.", "jax.lax."),
    ("jax.tree_util.tree_", "jax.tree."),
    ("jax.lax.linalg.", "jax.lax.linalg."),
    ("flax.linen.module.", "flax.linen."),
    ("equinox.internal.", "equinox."),
)
# What NumPy has two names for, most of them since there is a standard for arrays.
_ALIASES = {
    "array": "asarray",
    "amax": "max",
    "amin": "min",
    "absolute": "abs",
    "around": "round",
    "conjugate": "conj",
    "concat": "concatenate",
    "permute_dims": "transpose",
    "pow": "power",
    "acos": "arccos",
    "acosh": "arccosh",
    "asin": "arcsin",
    "asinh": "arcsinh",
    "atan": "arctan",
    "atanh": "arctanh",
    "atan2": "arctan2",
    "bitwise_invert": "invert",
    "bitwise_not": "invert",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}
_EXACT = {
    "jax.remat": "jax.checkpoint",
    "jax.tree_map": "jax.tree.map",
    "jax.tree_leaves": "jax.tree.leaves",
    "jax.tree_flatten": "jax.tree.flatten",
    "jax.tree_unflatten": "jax.tree.unflatten",
    "jax.random.PRNGKey": "jax.random.key",
    "jax.random.permutation": "jax.random.permutation",
    "jax.named_call": "jax.named_call",
    "jax.P": "jax.sharding.PartitionSpec",
    "jax.experimental.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.experimental.pjit.PartitionSpec": "jax.sharding.PartitionSpec",
    "jax.Array": "jax.Array",
    "jax.numpy.ndarray": "jax.Array",
    **{
        f"{module}.{alias}": f"{module}.{name}"
        for module in ("jax.numpy", "numpy")
        for alias, name in _ALIASES.items()
    },
    "jax.scipy.special.logsumexp": "jax.nn.logsumexp",
    **dict.fromkeys(("jax.nn.tanh", "flax.linen.tanh", "flax.nnx.tanh"), "jax.numpy.tanh"),
    "flax.linen.normalize": "jax.nn.standardize",
    **{
        f"jax.scipy.linalg.{name}": f"jax.numpy.linalg.{name}"
        for name in ("cholesky", "det", "eigh", "inv", "solve", "svd")
    },
    "jax.experimental.pjit.pjit": "jax.jit",
    "jax.pjit": "jax.jit",
    "jax.jacobian": "jax.jacrev",
    "jax.experimental.io_callback": "jax.io_callback",
    "jax.experimental.host_callback.call": "jax.pure_callback",
}
# flax offers JAX's activations under its own name.
_ACTIVATIONS = frozenset(
    "celu elu gelu glu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid "
    "identity log_softmax logsumexp one_hot relu relu6 selu sigmoid silu soft_sign softmax "
    "softplus standardize swish".split()
)


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """The name under which the tables know a thing."""
    if name.startswith(("jax", "flax", "equinox", "numpy")):
        exact = _EXACT.get(name)
        if exact is not None:
            return exact
        for prefix, replacement in _PREFIXES:
            if name.startswith(prefix):
                return replacement + name[len(prefix) :]
        module, _, last = name.rpartition(".")
        if module in ("flax.linen", "flax.nnx") and last in _ACTIVATIONS:
            return f"jax.nn.{last}"
    return name


def offered(name: str) -> Value:
    """What a library offers under a name; `jnp.newaxis` is no more than `None`."""
    known = canonical(name)
    return NONE if known in ("jax.numpy.newaxis", "numpy.newaxis") else External(known)
