"""The parts of a MaxText model around its multi-token prediction block, small and without a mesh.

Importing it makes `maxtext.layers.multi_token_prediction` importable.
"""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, stand_in

on_path("src")
old_jax()
blank(
    "maxtext.configs",
    "maxtext.layers.decoders",
    "maxtext.layers.initializers",
    "maxtext.layers.nnx_decoders",
    "maxtext.models",
    "maxtext.utils.max_logging",
    "maxtext.utils.elastic_utils",
    "maxtext.utils.sharding",
    "maxtext.utils.maxtext_utils",
    "maxtext.common.gcloud_stub",
)
package("maxtext", "src/maxtext")

import types

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

VOCABULARY, WIDTH = 11, 6


class Norm(nnx.RMSNorm):
    """MaxText's norm without its axes."""

    def __init__(self, num_features, epsilon, dtype, weight_dtype, kernel_axes, rngs):
        super().__init__(num_features, epsilon=epsilon, rngs=rngs)


class Dense(nnx.Linear):
    """MaxText's dense layer without its axes."""

    def __init__(
        self,
        in_features_shape,
        out_features_shape,
        dtype,
        weight_dtype,
        use_bias,
        kernel_axes,
        rngs,
    ):
        super().__init__(in_features_shape, out_features_shape, use_bias=use_bias, rngs=rngs)


def nested(dictionary, keys, default=None):
    for key in keys:
        if key not in dictionary:
            return default
        dictionary = dictionary[key]
    return dictionary


stand_in("maxtext.layers.linears", DenseGeneral=Dense)
stand_in("maxtext.layers.normalizations", RMSNorm=Norm)
import maxtext.configs.pyconfig
import maxtext.layers.nnx_decoders
import maxtext.models.deepseek_batchsplit
import maxtext.utils.maxtext_utils
import maxtext.utils.sharding

maxtext.utils.sharding.maybe_shard_with_logical = lambda x, *_: x
maxtext.utils.sharding.get_logical_axis_rules = lambda: ()
maxtext.utils.maxtext_utils.get_nested_value = nested

from maxtext.common.common_types import MODEL_MODE_TRAIN, DecoderBlockType, ShardMode

config = types.SimpleNamespace(
    emb_dim=WIDTH,
    vocab_size=VOCABULARY,
    logical_axis_rules=(),
    mtp_num_layers=2,
    mtp_eval_target_module=0,
    mtp_loss_scaling_factor=0.3,
    normalization_layer_epsilon=1e-5,
    dtype=jnp.float32,
    weight_dtype=jnp.float32,
    use_batch_split_schedule=False,
    shard_mode=ShardMode.AUTO,
    decoder_block=DecoderBlockType.LLAMA2,
    packing=True,
    context_parallel_size=1,
    context_parallel_load_balance=False,
)


class Layer(nnx.Module):
    """A decoder layer: every token attends to the earlier ones of its document."""

    def __init__(self, config, mesh, model_mode, rngs):
        self.query = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.value = nnx.Linear(WIDTH, WIDTH, rngs=rngs)

    def __call__(self, inputs, decoder_segment_ids, decoder_positions, deterministic, model_mode):
        scores = jnp.einsum("btd,bsd->bts", self.query(inputs), inputs) / WIDTH**0.5
        same = decoder_segment_ids[:, :, None] == decoder_segment_ids[:, None, :]
        earlier = decoder_positions[:, :, None] >= decoder_positions[:, None, :]
        weights = jax.nn.softmax(jnp.where(same & earlier, scores, -1e9))
        return inputs + jnp.einsum("bts,bsd->btd", weights, self.value(inputs))


class Decoder(nnx.Module):
    """The embedding and the output head that the block borrows from the main model."""

    model_mode = MODEL_MODE_TRAIN

    def _apply_embedding(self, table, ids, positions, deterministic, model_mode):
        return table[ids] + 0.1 * jnp.sin(positions)[..., None]

    def apply_output_head(self, table, hidden, deterministic, model_mode):
        return hidden @ table.T


def example_batch(rng, rows=2, length=7):
    """Documents packed into rows, the first of which ends in padding."""
    segments = np.array([[1, 1, 1, 2, 2, 2, 0], [1, 1, 2, 2, 2, 3, 3]])
    return {
        "inputs": rng.integers(VOCABULARY, size=(rows, length)),
        "targets": rng.integers(VOCABULARY, size=(rows, length)),
        "inputs_position": np.array([[0, 1, 2, 0, 1, 2, 0], [0, 1, 0, 1, 2, 0, 1]]),
        "inputs_segmentation": segments,
        "targets_segmentation": segments,
    }
