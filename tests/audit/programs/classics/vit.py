"""A vision transformer in flax: patches, a class token, dropout, and a train state."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

PATCH, CLASSES = 4, 6


class TrainState(train_state.TrainState):
    key: jax.Array


def patchify(images):
    """From (batch, height, width, channel) to (batch, patch, pixels of a patch)."""
    batch, height, width, channels = images.shape
    rows, columns = height // PATCH, width // PATCH
    x = images.reshape(batch, rows, PATCH, columns, PATCH, channels)
    x = x.transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(batch, rows * columns, PATCH * PATCH * channels)


class SelfAttention(nn.Module):
    heads: int

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        qkv = nn.DenseGeneral((3, self.heads, width // self.heads), name="qkv")(x)
        query, key, value = jnp.moveaxis(qkv, 2, 0)
        scores = jnp.einsum("bqhc,bkhc->bhqk", query, key) / np.sqrt(query.shape[-1])
        weights = nn.softmax(scores, axis=-1)
        mixed = jnp.einsum("bhqk,bkhc->bqhc", weights, value)
        return nn.DenseGeneral(width, axis=(-2, -1), name="out")(mixed)


class Block(nn.Module):
    heads: int
    rate: float

    @nn.compact
    def __call__(self, x, train):
        y = SelfAttention(self.heads)(nn.LayerNorm()(x))
        x = x + nn.Dropout(self.rate, deterministic=not train)(y)
        y = nn.LayerNorm()(x)
        y = nn.gelu(nn.Dense(2 * x.shape[-1])(y))
        y = nn.Dropout(self.rate, deterministic=not train)(y)
        return x + nn.Dense(x.shape[-1])(y)


class ViT(nn.Module):
    width: int = 20
    depth: int = 2
    heads: int = 2
    rate: float = 0.1

    @nn.compact
    def __call__(self, images, train):
        x = nn.Dense(self.width, name="embed")(patchify(images))
        batch, patches, width = x.shape
        token = self.param("token", nn.initializers.zeros, (1, 1, width))
        x = jnp.concatenate([jnp.tile(token, (batch, 1, 1)), x], axis=1)
        x = x + self.param("position", nn.initializers.normal(0.02), (1, patches + 1, width))
        x = nn.Dropout(self.rate, deterministic=not train)(x)
        for _ in range(self.depth):
            x = Block(self.heads, self.rate)(x, train)
        return nn.Dense(CLASSES, name="head")(nn.LayerNorm()(x)[:, 0])


@jax.jit
def entry(state, images, labels):
    dropout_key = jax.random.fold_in(state.key, state.step)

    def loss_fn(params):
        logits = state.apply_fn({"params": params}, images, True, rngs={"dropout": dropout_key})
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), logits

    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    accuracy = (logits.argmax(axis=-1) == labels).mean()
    return state, {"loss": loss, "accuracy": accuracy}


@jax.jit
def evaluate(state, images, labels):
    logits = state.apply_fn({"params": state.params}, images, False)
    return (logits.argmax(axis=-1) == labels).mean()


def pictures(rng, batch):
    """Noise, and a checkerboard of one of three colours and two phases in one of the patches."""
    images = 0.3 * rng.normal(size=(batch, 12, 8, 3)).astype(np.float32)
    labels = rng.integers(0, CLASSES, batch)
    board = np.indices((PATCH, PATCH)).sum(axis=0) % 2 * 2.0 - 1.0
    for image, label in zip(images, labels, strict=True):
        top, left = PATCH * rng.integers(0, 3), PATCH * rng.integers(0, 2)
        image[top : top + PATCH, left : left + PATCH, label // 2] += board * (-1) ** label
    return jnp.asarray(images), jnp.asarray(labels, jnp.int32)


def create_state(key):
    init_key, dropout_key = jax.random.split(key)
    model = ViT()
    params = model.init(init_key, jnp.zeros((1, 12, 8, 3)), False)["params"]
    schedule = optax.warmup_cosine_decay_schedule(0.0, 6e-3, 20, 150)
    return TrainState.create(
        apply_fn=model.apply, params=params, tx=optax.adamw(schedule), key=dropout_key
    )


def inputs():
    return create_state(jax.random.key(0)), *pictures(np.random.default_rng(0), 5)


AXES = {"images": "batch height width channel", "labels": "batch"}


def check():
    rng = np.random.default_rng(1)
    images, _ = pictures(rng, 3)
    rows = [
        [image[i : i + PATCH, j : j + PATCH].ravel() for i in (0, 4, 8) for j in (0, 4)]
        for image in np.asarray(images)
    ]
    np.testing.assert_array_equal(patchify(images), np.array(rows))

    layer = SelfAttention(2)
    x = rng.normal(size=(3, 7, 10)).astype(np.float32)
    variables = layer.init(jax.random.key(1), x)
    weights = jax.tree.map(np.asarray, variables["params"])
    for row, result in zip(x, layer.apply(variables, x), strict=True):
        qkv = np.einsum("tw,wnhc->nhtc", row, weights["qkv"]["kernel"])
        scores = np.exp(qkv[0] @ qkv[1].swapaxes(1, 2) / np.sqrt(5))
        mixed = (scores / scores.sum(axis=2, keepdims=True)) @ qkv[2]
        expected = np.einsum("htc,hcw->tw", mixed, weights["out"]["kernel"])
        np.testing.assert_allclose(result, expected, atol=1e-5)

    state = create_state(jax.random.key(0))
    for _ in range(150):
        state, metrics = entry(state, *pictures(rng, 32))
    assert metrics["loss"] < 0.3, metrics
    assert evaluate(state, *pictures(rng, 200)) > 0.95
