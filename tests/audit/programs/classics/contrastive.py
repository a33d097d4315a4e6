"""Contrastive learning of two augmented views (SimCLR), in flax with batch normalisation."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

TEMPERATURE = 0.2


class TrainState(train_state.TrainState):
    batch_stats: Any


class Encoder(nn.Module):
    width: int = 16
    projection: int = 8

    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(8, (3, 3), use_bias=False)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.9)(x))
        x = nn.Conv(self.width, (3, 3), strides=2)(x)
        features = nn.relu(x).mean(axis=(1, 2))
        hidden = nn.relu(nn.Dense(self.width)(features))
        return features, nn.Dense(self.projection)(hidden)


def augment(key, image):
    """Flip, shift and brighten one picture, and add noise to it."""
    flip_key, shift_key, gain_key, noise_key = jax.random.split(key, 4)
    image = jnp.where(jax.random.bernoulli(flip_key), image[:, ::-1], image)
    shift = jax.random.randint(shift_key, (2,), -1, 2)
    image = jnp.roll(image, shift, axis=(0, 1))
    image = image * jax.random.uniform(gain_key, minval=0.6, maxval=1.4)
    return image + 0.1 * jax.random.normal(noise_key, image.shape)


def nt_xent(first, second):
    """The cross entropy of finding the other view among all views of the batch."""
    embeddings = jnp.concatenate([first, second])
    embeddings = embeddings / jnp.linalg.norm(embeddings, axis=-1, keepdims=True)
    count = len(first)
    similarity = embeddings @ embeddings.T / TEMPERATURE
    logits = jnp.where(jnp.eye(2 * count, dtype=bool), -1e9, similarity)
    partner = jnp.roll(jnp.arange(2 * count), count)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, partner)
    accuracy = (logits.argmax(axis=-1) == partner).mean()
    return losses.mean(), accuracy


@jax.jit
def entry(state, images, key):
    first_key, second_key = jax.random.split(key)
    batch = len(images)
    first = jax.vmap(augment)(jax.random.split(first_key, batch), images)
    second = jax.vmap(augment)(jax.random.split(second_key, batch), images)

    def loss_fn(params):
        variables = {"params": params, "batch_stats": state.batch_stats}
        views = jnp.concatenate([first, second])
        (_, z), changed = state.apply_fn(variables, views, train=True, mutable=["batch_stats"])
        loss, accuracy = nt_xent(*jnp.split(z, 2))
        return loss, (accuracy, changed["batch_stats"])

    grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
    (loss, (accuracy, batch_stats)), grads = grad_fn(state.params)
    state = state.apply_gradients(grads=grads, batch_stats=batch_stats)
    return state, {"loss": loss, "accuracy": accuracy}


@jax.jit
def embed(state, images):
    variables = {"params": state.params, "batch_stats": state.batch_stats}
    features, _ = state.apply_fn(variables, images, train=False)
    return features


def textures(rng, count, size=8):
    """Stripes of one of four orientations, at a random phase."""
    labels = rng.integers(0, 4, count)
    angle = np.pi * labels / 4
    y, x = np.indices((size, size + 2))
    across = np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y
    phase = rng.uniform(0, 2 * np.pi, (count, 1, 1))
    return jnp.asarray(np.sin(1.8 * across + phase)[..., None], jnp.float32), labels


def create_state(key):
    model = Encoder()
    variables = model.init(key, jnp.zeros((1, 8, 10, 1)), train=False)
    return TrainState.create(
        apply_fn=model.apply,
        params=variables["params"],
        batch_stats=variables["batch_stats"],
        tx=optax.adam(5e-3),
    )


def inputs():
    images, _ = textures(np.random.default_rng(0), 5)
    return create_state(jax.random.key(0)), images, jax.random.key(1)


AXES = {"images": "batch height width channel"}


def check():
    rng = np.random.default_rng(1)
    views = rng.normal(size=(2, 6, 4))
    z = (views / np.linalg.norm(views, axis=-1, keepdims=True)).reshape(12, 4)
    total = 0.0
    for i in range(12):
        scores = np.exp([z[i] @ z[j] / TEMPERATURE for j in range(12)])
        total -= np.log(scores[(i + 6) % 12] / (scores.sum() - scores[i]))
    np.testing.assert_allclose(nt_xent(*views)[0], total / 12, rtol=1e-4)

    state, _, key = inputs()
    losses = []
    for _ in range(200):
        key, step_key = jax.random.split(key)
        state, metrics = entry(state, textures(rng, 32)[0], step_key)
        losses.append(float(metrics["loss"]))
    # A guess among the 63 other views costs log(63), one among those of like stripes log(15).
    guess, best = np.log([63, 15])
    assert np.mean(losses[-20:]) < (guess + best) / 2, losses[-20:]

    images, labels = textures(rng, 300)
    features = np.asarray(embed(state, images))
    design = np.hstack([(features - features.mean(axis=0)) / features.std(axis=0).clip(1e-3),
                        np.ones((300, 1))])  # fmt: skip
    probe, *_ = np.linalg.lstsq(design[:200], np.eye(4)[labels[:200]], rcond=None)
    assert ((design[200:] @ probe).argmax(axis=1) == labels[200:]).mean() > 0.6
