"""Gradients of a loss on tokens that MaxText routes to experts and back."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path("src")
old_jax()
blank(
    "aqt",
    "qwix",
    "MaxText.kernels",
    "MaxText.max_utils",
    "MaxText.max_logging",
    "MaxText.layers.quantizations",
    "MaxText.layers.attentions",
    "MaxText.layers.linears",
    "MaxText.layers.nnx_wrappers",
    "MaxText.layers.initializers",
)
package("MaxText", "src/MaxText")
package("MaxText.layers", "src/MaxText/layers")

import types

import aqt.jax.v2.aqt_tensor  # noqa: F401
import jax
import jax.numpy as jnp
import numpy as np
from MaxText import common_types
from MaxText.layers.moe import RoutedMoE

EXPERTS, PER_TOKEN = 4, 2


class Router(RoutedMoE):
    """The layer without its parameters: the experts' weights are arguments of the loss."""

    def __init__(self):
        self.config = types.SimpleNamespace(
            use_random_routing=False,
            model_name="mixtral-8x7b",
            decoder_block=common_types.DecoderBlockType.MIXTRAL,
            norm_topk_prob=False,
            matmul_precision="default",
        )
        self.num_experts, self.num_experts_per_tok = EXPERTS, PER_TOKEN
        self.dtype = jnp.float32


router = Router()


def loss(tokens, gate, experts, targets):
    logits = tokens @ gate
    batch, length, _ = tokens.shape
    x, order, weights, sizes, experts_of_rows = router.permute(tokens, logits, logits)
    x = jnp.einsum("re,reo->ro", x, experts[experts_of_rows])
    out = router.unpermute(x, order, weights, batch, length)
    return jnp.mean((out - targets) ** 2), (out, sizes)


def entry(tokens, gate, experts, targets):
    return jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True)(tokens, gate, experts, targets)


def inputs():
    rng = np.random.default_rng(12)
    batch, length, width = 2, 3, 5
    shapes = (
        (batch, length, width),
        (width, EXPERTS),
        (EXPERTS, width, width),
        (batch, length, width),
    )
    return tuple(jnp.asarray(rng.normal(size=s), jnp.float32) for s in shapes)


if __name__ == "__main__":
    run(entry, inputs)
