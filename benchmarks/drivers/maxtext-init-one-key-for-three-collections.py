"""Initialise the training state of a small language model with dropout and quantisation noise."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path("src")
old_jax()
blank(
    "MaxText.checkpointing",
    "MaxText.max_logging",
    "MaxText.max_utils",
    "MaxText.multimodal_utils",
    "MaxText.sharding",
    "MaxText.inference",
    "orbax.checkpoint.experimental",
)
package("MaxText", "src/MaxText")

import types

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from MaxText import maxtext_utils

config = types.SimpleNamespace(
    micro_batch_size_to_train_on=2, max_target_length=5, model_name="default", use_multimodal=False
)


class LanguageModel(nn.Module):
    """Embedding, dropout, and a projection with stochastically rounded (quantised) weights."""

    @nn.compact
    def __call__(self, tokens, positions, encoder_images=None):
        x = nn.Embed(7, 4)(tokens) + nn.Embed(6, 4)(positions)
        x = nn.Dropout(0.3, deterministic=False)(x)
        noise = jax.random.uniform(self.make_rng("aqt"), (4, 7)) - 0.5
        kernel = self.param("kernel", nn.initializers.lecun_normal(), (4, 7))
        frozen = self.variable("aqt", "kernel", lambda: jnp.round(16 * kernel + noise) / 16)
        return x @ frozen.value


model = LanguageModel()
tx = optax.adam(1e-3)


def entry(key):
    return maxtext_utils.init_initial_state(model, tx, config, True, key)


def inputs():
    return (jax.random.PRNGKey(17),)


if __name__ == "__main__":
    run(entry, inputs)
