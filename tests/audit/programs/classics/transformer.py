"""A decoder-only transformer in plain JAX: scanned blocks, AdamW, sampling with a cache."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

VOCABULARY, WIDTH, HEADS, LAYERS, CONTEXT = 7, 24, 3, 2, 16
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(3e-3, weight_decay=0.01))


class Cache(NamedTuple):
    keys: jax.Array  # layer, batch, time, head, channel
    values: jax.Array


def init_block(key):
    keys = jax.random.split(key, 4)
    normal = jax.nn.initializers.normal(0.1)
    return {
        "norm1": jnp.ones(WIDTH),
        "qkv": normal(keys[0], (WIDTH, 3 * WIDTH)),
        "out": normal(keys[1], (WIDTH, WIDTH)),
        "norm2": jnp.ones(WIDTH),
        "up": normal(keys[2], (WIDTH, 4 * WIDTH)),
        "down": normal(keys[3], (4 * WIDTH, WIDTH)),
    }


def init_params(key):
    embed_key, position_key, block_key = jax.random.split(key, 3)
    return {
        "embed": 0.1 * jax.random.normal(embed_key, (VOCABULARY, WIDTH)),
        "position": 0.1 * jax.random.normal(position_key, (CONTEXT, WIDTH)),
        "blocks": jax.vmap(init_block)(jax.random.split(block_key, LAYERS)),
        "norm": jnp.ones(WIDTH),
    }


def layer_norm(scale, x):
    mean = x.mean(axis=-1, keepdims=True)
    var = x.var(axis=-1, keepdims=True)
    return scale * (x - mean) * jax.lax.rsqrt(var + 1e-5)


def split_heads(x):
    return x.reshape(*x.shape[:-1], HEADS, WIDTH // HEADS)


def attend(query, key, value, mask):
    scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1])
    weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", weights, value)
    return mixed.reshape(*mixed.shape[:2], WIDTH)


def feed_forward(block, x):
    return jax.nn.gelu(layer_norm(block["norm2"], x) @ block["up"]) @ block["down"]


def forward(params, tokens):
    time = tokens.shape[1]
    causal = jnp.tril(jnp.ones((time, time), bool))

    def layer(x, block):
        qkv = layer_norm(block["norm1"], x) @ block["qkv"]
        query, key, value = (split_heads(it) for it in jnp.split(qkv, 3, axis=-1))
        x = x + attend(query, key, value, causal) @ block["out"]
        return x + feed_forward(block, x), None

    x = params["embed"][tokens] + params["position"][:time]
    x, _ = jax.lax.scan(layer, x, params["blocks"])
    return layer_norm(params["norm"], x) @ params["embed"].T


def decode(params, cache, token, position):
    """The logits after one more token a sequence, and the cache with it."""
    visible = jnp.arange(CONTEXT) <= position

    def layer(x, scanned):
        block, keys, values = scanned
        qkv = layer_norm(block["norm1"], x) @ block["qkv"]
        query, key, value = (split_heads(it) for it in jnp.split(qkv, 3, axis=-1))
        keys = jax.lax.dynamic_update_slice_in_dim(keys, key, position, axis=1)
        values = jax.lax.dynamic_update_slice_in_dim(values, value, position, axis=1)
        x = x + attend(query, keys, values, visible) @ block["out"]
        return x + feed_forward(block, x), (keys, values)

    x = (params["embed"][token] + params["position"][position])[:, None]
    x, (keys, values) = jax.lax.scan(layer, x, (params["blocks"], *cache))
    logits = layer_norm(params["norm"], x[:, 0]) @ params["embed"].T
    return logits, Cache(keys, values)


@partial(jax.jit, static_argnames="length")
def sample(params, prompt, key, length):
    """Continue each prompt to `length` tokens; also the logits behind each token."""
    batch, given = prompt.shape
    empty = jnp.zeros((LAYERS, batch, CONTEXT, HEADS, WIDTH // HEADS))

    def step(carry, scanned):
        cache, token = carry
        position, key = scanned
        logits, cache = decode(params, cache, token, position)
        drawn = jax.random.categorical(key, logits)
        upcoming = prompt[:, jnp.minimum(position + 1, given - 1)]
        token = jnp.where(position + 1 < given, upcoming, drawn)
        return (cache, token), (token, logits)

    steps = (jnp.arange(length - 1), jax.random.split(key, length - 1))
    _, (tokens, logits) = jax.lax.scan(step, (Cache(empty, empty), prompt[:, 0]), steps)
    return jnp.concatenate([prompt[:, :1], tokens.T], axis=1), logits.swapaxes(0, 1)


def loss_fn(params, tokens):
    logits = forward(params, tokens[:, :-1])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    return losses.mean()


@partial(jax.jit, donate_argnums=(0, 1))
def entry(params, opt_state, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def sequences(rng, batch):
    """Each token follows from the two before it."""
    tokens = np.zeros((batch, CONTEXT), np.int32)
    tokens[:, :2] = rng.integers(0, VOCABULARY, (batch, 2))
    for i in range(2, CONTEXT):
        tokens[:, i] = (tokens[:, i - 1] + 2 * tokens[:, i - 2] + 1) % VOCABULARY
    return tokens


def inputs():
    params = init_params(jax.random.key(0))
    tokens = sequences(np.random.default_rng(0), 5)
    return params, OPTIMISER.init(params), jnp.asarray(tokens)


AXES = {"tokens": "batch time"}


def attention_by_loops(query, key, value):
    batch, time, heads, channels = query.shape
    out = np.zeros_like(value)
    for b, h, q in np.ndindex(batch, heads, time):
        scores = key[b, : q + 1, h] @ query[b, q, h] / np.sqrt(channels)
        weights = np.exp(scores - scores.max())
        out[b, q, h] = weights @ value[b, : q + 1, h] / weights.sum()
    return out.reshape(batch, time, heads * channels)


def check():
    rng = np.random.default_rng(1)
    query, key, value = rng.normal(size=(3, 2, 6, HEADS, WIDTH // HEADS)).astype(np.float32)
    causal = np.tril(np.ones((6, 6), bool))
    expected = attention_by_loops(query, key, value)
    np.testing.assert_allclose(attend(query, key, value, causal), expected, atol=1e-5)

    params, opt_state, _ = inputs()
    for _ in range(250):
        params, opt_state, loss = entry(params, opt_state, jnp.asarray(sequences(rng, 32)))
    floor = np.log(VOCABULARY) / (CONTEXT - 1)  # The second token follows from nothing.
    assert loss < floor + 0.1, loss

    prompt = sequences(rng, 4)[:, :3]
    tokens, logits = sample(params, jnp.asarray(prompt), jax.random.key(2), CONTEXT)
    np.testing.assert_allclose(logits, forward(params, tokens[:, :-1]), atol=1e-4)
    tokens = np.asarray(tokens)
    follows = (tokens[:, 1:-1] + 2 * tokens[:, :-2] + 1) % VOCABULARY
    assert (tokens[:, :3] == prompt).all()
    assert (tokens[:, 2:] == follows).mean() > 0.9
