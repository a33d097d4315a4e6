"""A training step of a small residual network in haiku, with batch normalisation and dropout."""

import haiku as hk
import jax
import jax.numpy as jnp
import optax

CLASSES = 3
OPTIMISER = optax.sgd(0.1, momentum=0.9)


class Block(hk.Module):
    def __init__(self, channels, name=None):
        super().__init__(name)
        self.channels = channels

    def __call__(self, x, is_training):
        y = hk.Conv2D(self.channels, 3, with_bias=False)(x)
        y = jax.nn.relu(hk.BatchNorm(True, True, decay_rate=0.9)(y, is_training))
        y = hk.Conv2D(self.channels, 3, with_bias=False)(y)
        y = hk.BatchNorm(True, True, decay_rate=0.9, scale_init=jnp.zeros)(y, is_training)
        return jax.nn.relu(x + y)


def forward(images, is_training):
    x = hk.Conv2D(8, 3)(images)
    for _ in range(2):
        x = Block(8)(x, is_training)
    x = x.mean(axis=(1, 2))
    if is_training:
        x = hk.dropout(hk.next_rng_key(), 0.2, x)
    return hk.Linear(CLASSES)(x)


NETWORK = hk.transform_with_state(forward)


@jax.jit
def entry(params, state, opt_state, images, labels, key):
    def loss_fn(params):
        logits, new_state = NETWORK.apply(params, state, key, images, is_training=True)
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
        return losses.mean(), new_state

    (loss, state), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), state, opt_state, loss


def inputs():
    init_key, images_key, key = jax.random.split(jax.random.key(0), 3)
    images = jax.random.normal(images_key, (5, 6, 7, 2))
    params, state = NETWORK.init(init_key, images, is_training=True)
    return params, state, OPTIMISER.init(params), images, jnp.arange(5) % CLASSES, key


AXES = {"images": "batch height width channel", "labels": "batch"}
