"""Gradients of the mean cross-entropy over a vocabulary in tiles, through the hidden states too."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, run

on_path("src")
old_jax()
blank(
    "maxtext.configs",
    "maxtext.utils.max_logging",
    "maxtext.utils.elastic_utils",
    "maxtext.common.gcloud_stub",
)

import types

import flax.linen as nn
import jax
import jax.numpy as jnp
import maxtext.configs.pyconfig  # noqa: F401
import numpy as np
from maxtext.common.common_types import ShardMode
from maxtext.utils.vocabulary_tiling import vocab_tiling_linen_loss

VOCABULARY = 11
config = types.SimpleNamespace(
    enable_dropout=False,
    shard_mode=ShardMode.AUTO,
    debug_sharding=False,
    num_vocab_tiling=3,
    vocab_size=VOCABULARY,
    z_loss_multiplier=0.01,
)


class Head(nn.Module):
    """The end of a decoder: a norm and the projection to the vocabulary."""

    mesh: jax.sharding.Mesh

    @nn.compact
    def logits_from_hidden_states_for_vocab_tiling(self, hidden_states, deterministic):
        return nn.Dense(VOCABULARY, name="logits_dense")(
            nn.RMSNorm(name="decoder_norm")(hidden_states)
        )


model = Head(jax.sharding.Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "fsdp")))


def loss(params, projection, features, data):
    hidden_states = jnp.tanh(features @ projection)
    total, z_loss = vocab_tiling_linen_loss(
        hidden_states, data, config, model, params, is_train=True
    )
    weights = jnp.sum(data["targets_segmentation"] != 0)
    return total / weights, z_loss / weights


def entry(params, projection, features, data):
    return jax.value_and_grad(loss, argnums=(0, 1), has_aux=True)(
        params, projection, features, data
    )


def inputs():
    rng = np.random.default_rng(14)
    batch, length, width = 2, 6, 4
    features = jnp.asarray(rng.normal(size=(batch, length, 5)), jnp.float32)
    projection = jnp.asarray(rng.normal(size=(5, width)), jnp.float32)
    data = {
        "targets": jnp.asarray(rng.integers(VOCABULARY, size=(batch, length))),
        "targets_segmentation": jnp.array([[1, 1, 1, 2, 2, 0], [1, 1, 2, 2, 3, 3]]),
    }
    params = model.init(
        jax.random.PRNGKey(1),
        jnp.ones((1, width)),
        True,
        method="logits_from_hidden_states_for_vocab_tiling",
    )
    return params, projection, features, data


if __name__ == "__main__":
    run(entry, inputs)
