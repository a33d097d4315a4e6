"""The training loss of a small MaxText model with multi-token prediction, and its gradients."""

# ruff: noqa: E402 - the parts prepare what is imported after them.

import maxtext_parts as parts
from stand_ins import blank, run, stand_in

blank(
    "tensorflow",
    "pathwaysutils",
    "maxtext.common.checkpointing",
    "maxtext.common.profiler",
    "maxtext.common.goodput",
    "maxtext.common.metric_logger",
    "maxtext.utils.exceptions",
    "maxtext.utils.gcs_utils",
    "maxtext.utils.qk_clip_utils",
    "maxtext.utils.maxtext_utils_nnx",
    "maxtext.utils.train_utils",
    "maxtext.utils.gradient_accumulation",
    "maxtext.utils.vocabulary_tiling",
)
stand_in("maxtext.common.gcloud_stub", vertex_tensorboard_modules=lambda: (None, True))

import types

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from maxtext.layers import multi_token_prediction as mtp
from maxtext.trainers.pre_train import train

config = types.SimpleNamespace(
    **vars(parts.config),
    micro_batch_size_to_train_on=2,
    weight_sparsity_n=None,
    weight_sparsity_m=None,
    use_multimodal=False,
    enable_dropout=False,
    num_vocab_tiling=1,
    use_indexer=False,
    z_loss_multiplier=0.01,
    gradient_accumulation_steps=1,
    use_tunix_gradient_accumulation=False,
    num_experts=1,
    routed_bias=False,
)


class Transformer(nnx.Module):
    """An embedding, one layer, the output head, and the block that predicts later tokens."""

    def __init__(self, rngs):
        self.table = nnx.Param(jax.random.normal(rngs.params(), (parts.VOCABULARY, parts.WIDTH)))
        self.layer = parts.Layer(config, None, parts.MODEL_MODE_TRAIN, rngs)
        self.decoder = parts.Decoder()
        self.mtp_block = mtp.MultiTokenPredictionBlock(
            config, None, parts.Layer, self.decoder, rngs
        )

    def __call__(
        self,
        decoder_input_tokens,
        decoder_positions,
        decoder_segment_ids,
        encoder_images,
        encoder_image_masks,
        enable_dropout,
        decoder_target_tokens,
        decoder_target_mask,
    ):
        table, mode = self.table[...], parts.MODEL_MODE_TRAIN
        hidden = self.decoder._apply_embedding(
            table, decoder_input_tokens, decoder_positions, True, mode
        )
        hidden = self.layer(hidden, decoder_segment_ids, decoder_positions, True, mode)
        self.mtp_block(
            table,
            hidden,
            decoder_input_tokens,
            decoder_target_tokens,
            decoder_target_mask,
            position_ids=decoder_positions,
            decoder_segment_ids=decoder_segment_ids,
            model_mode=mode,
            deterministic=True,
        )
        return self.decoder.apply_output_head(table, hidden, True, mode)


graph, weights, rest = nnx.split(Transformer(nnx.Rngs(9)), nnx.Param, ...)


def loss(weights, batch):
    model = nnx.merge(graph, weights, rest)
    loss, aux = train.loss_fn(model, config, dict(batch), None, None, is_train=True)
    return loss, (aux["xent_sum"], aux["mtp_loss"])


def entry(weights, batch):
    return jax.value_and_grad(loss, has_aux=True)(weights, batch)


def inputs():
    batch = parts.example_batch(np.random.default_rng(31))
    return weights, jax.tree_util.tree_map(jnp.asarray, batch)


if __name__ == "__main__":
    run(entry, inputs)
