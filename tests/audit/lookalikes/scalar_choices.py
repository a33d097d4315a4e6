"""Choices between scalars, which only `vmap` accepts, beside gradients."""

import jax
import jax.numpy as jnp
from jax import lax


def signs(row):
    return lax.select(row > 0, 1.0, -1.0)


def by_flag(flag, a, b):
    return lax.select(flag, a, b)


def loss(w, xs, flags):
    rows = jax.vmap(lambda x: jnp.tanh(x @ w))(xs)
    kept = jax.vmap(by_flag)(flags, rows, xs)
    return jnp.mean(jnp.sum(jax.vmap(signs)(xs) * kept, axis=-1) ** 2)


def entry(w, xs, flags):
    per_row = jax.vmap(jax.grad(loss), (None, 0, 0))(w, xs[:, None], flags[:, None])
    return jax.grad(loss)(w, xs, flags), per_row


def inputs():
    xs = jax.random.normal(jax.random.key(0), (4, 3))
    return 0.5 * jnp.eye(3), xs, jnp.array([True, False, True, True])
