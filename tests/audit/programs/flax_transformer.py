"""One training step of a decoder-only transformer in flax, with dropout, optax and a mask."""

from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Block(nn.Module):
    heads: int
    width: int

    @nn.compact
    def __call__(self, x, mask, train: bool):
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(self.heads, dropout_rate=0.1, deterministic=not train)(
            y, y, mask=mask
        )
        x = x + nn.Dropout(0.1, deterministic=not train)(y)
        y = nn.LayerNorm()(x)
        y = nn.Dense(self.width)(nn.gelu(nn.Dense(4 * self.width)(y)))
        return x + nn.Dropout(0.1, deterministic=not train)(y)


class Transformer(nn.Module):
    layers: int = 4
    heads: int = 2
    width: int = 16
    vocabulary: int = 32

    @nn.compact
    def __call__(self, tokens, train: bool):
        x = nn.Embed(self.vocabulary, self.width)(tokens)
        positions = self.param(
            "positions", nn.initializers.normal(0.02), (tokens.shape[1], self.width)
        )
        x = x + positions
        mask = nn.make_causal_mask(tokens)
        for _ in range(self.layers):
            x = Block(self.heads, self.width)(x, mask, train)
        return nn.Dense(self.vocabulary)(nn.LayerNorm()(x))


MODEL = Transformer()
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))


def loss_fn(params, tokens, key):
    logits = MODEL.apply({"params": params}, tokens[:, :-1], train=True, rngs={"dropout": key})
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    return losses.mean()


@partial(jax.jit, donate_argnums=(0, 1))
def entry(params, opt_state, tokens, key):
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens, key)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def inputs():
    tokens = jnp.asarray(np.random.default_rng(0).integers(0, 32, size=(3, 9)), jnp.int32)
    params = MODEL.init(jax.random.key(0), tokens[:, :-1], train=False)["params"]
    return params, OPTIMISER.init(params), tokens, jax.random.key(1)


AXES = {"tokens": "batch time"}
