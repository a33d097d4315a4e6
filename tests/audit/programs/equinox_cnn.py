"""One training step of a small convolutional classifier in equinox."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Classifier(eqx.Module):
    layers: list
    dropout: eqx.nn.Dropout
    head: eqx.nn.Linear

    def __init__(self, key):
        keys = jax.random.split(key, 3)
        self.layers = [
            eqx.nn.Conv2d(1, 4, 3, key=keys[0]),
            jax.nn.relu,
            eqx.nn.MaxPool2d(2, 2),
            eqx.nn.Conv2d(4, 8, 3, key=keys[1]),
            jax.nn.relu,
        ]
        self.dropout = eqx.nn.Dropout(0.1)
        self.head = eqx.nn.Linear(8 * 4 * 4, 10, key=keys[2])

    def __call__(self, x, key):
        for layer in self.layers:
            x = layer(x)
        return self.head(self.dropout(x.reshape(-1), key=key))


OPTIMISER = optax.adam(1e-3)


def loss_fn(model, images, labels, key):
    keys = jax.random.split(key, images.shape[0])
    logits = jax.vmap(model)(images.astype(jnp.float32) / 255.0, keys)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@eqx.filter_jit
def entry(model, opt_state, images, labels, key):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, images, labels, key)
    updates, opt_state = OPTIMISER.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss


def inputs():
    model = Classifier(jax.random.key(0))
    rng = np.random.default_rng(0)
    images = jnp.asarray(rng.integers(0, 256, size=(5, 1, 14, 14)), jnp.uint8)
    labels = jnp.asarray(rng.integers(0, 10, size=5), jnp.int32)
    state = OPTIMISER.init(eqx.filter(model, eqx.is_inexact_array))
    return model, state, images, labels, jax.random.key(1)


AXES = {"images": "batch channel height width", "labels": "batch"}
