"""The multi-token prediction loss, and its gradients, on a batch of packed documents."""

import jax
import jax.numpy as jnp
import maxtext_parts as parts
import numpy as np
from flax import nnx
from maxtext.layers import multi_token_prediction as mtp
from stand_ins import run

config = parts.config
block = mtp.MultiTokenPredictionBlock(config, None, parts.Layer, parts.Decoder(), nnx.Rngs(4))
graph, weights, rest = nnx.split(block, nnx.Param, ...)


def loss(weights, table, hidden, batch):
    block = nnx.merge(graph, weights, rest)
    block(
        table,
        hidden,
        batch["inputs"],
        batch["targets"],
        batch["targets_segmentation"],
        position_ids=batch["inputs_position"],
        decoder_segment_ids=batch["inputs_segmentation"],
        model_mode=parts.MODEL_MODE_TRAIN,
        deterministic=True,
    )
    sown = {
        "mtp_losses": {"mtp_block": {"losses": block.losses[...], "weights": block.weights[...]}}
    }
    return mtp.calculate_mtp_loss(sown, config)


def entry(weights, table, hidden, batch):
    return jax.value_and_grad(loss, argnums=(0, 1, 2))(weights, table, hidden, batch)


def inputs():
    rng = np.random.default_rng(27)
    batch = parts.example_batch(rng)
    table = rng.normal(size=(parts.VOCABULARY, parts.WIDTH)).astype(np.float32)
    hidden = rng.normal(size=(*batch["inputs"].shape, parts.WIDTH)).astype(np.float32)
    return weights, *jax.tree_util.tree_map(jnp.asarray, (table, hidden, batch))


if __name__ == "__main__":
    run(entry, inputs)
