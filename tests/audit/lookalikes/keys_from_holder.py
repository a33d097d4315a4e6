"""Keys from an object that is made inside of each jitted function, and changed there."""

import jax
import jax.numpy as jnp


class PRNGSequence:
    def __init__(self, key):
        self.key = key

    def __next__(self):
        self.key, sub = jax.random.split(self.key)
        return sub

    next = __next__


def init_layer(rng, n_in, n_out):
    scale = 1.0 / jnp.sqrt(n_in)
    return {
        "w": scale * jax.random.normal(next(rng), (n_in, n_out)),
        "b": 0.01 * jax.random.normal(next(rng), (n_out,)),
    }


@jax.jit
def init(key):
    rng = PRNGSequence(key)
    return [init_layer(rng, 3, 8), init_layer(rng, 8, 8), init_layer(rng, 8, 1)]


def forward(params, x, rng=None):
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
        if rng is not None:
            x = x * jax.random.bernoulli(next(rng), 0.9, x.shape) / 0.9
    return x


@jax.jit
def loss(params, key, x):
    rng = PRNGSequence(key)
    noisy = x + 0.1 * jax.random.normal(rng.next(), x.shape)
    return jnp.mean(forward(params, noisy, rng) ** 2)


def entry(key, x):
    rng = PRNGSequence(key)
    params = init(next(rng))
    return loss(params, next(rng), x)


def inputs():
    return jax.random.key(0), jnp.ones((4, 3))
