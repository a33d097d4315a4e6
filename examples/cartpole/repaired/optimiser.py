"""Adam, with a learning rate that decays."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from networks import Params

RATE, HALF_LIFE = 0.005, 50


class Adam(NamedTuple):
    mean: Params
    square: Params
    updates: Array


def init(params: Params) -> Adam:
    zeros = jax.tree.map(jnp.zeros_like, params)
    return Adam(zeros, zeros, jnp.zeros(()))


def apply(adam: Adam, params: Params, gradient: Params) -> tuple[Adam, Params]:
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, adam.mean, gradient)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g**2, adam.square, gradient)
    step = rate(adam.updates)
    moved = jax.tree.map(lambda p, m, s: p - step * m / (jnp.sqrt(s) + 1e-8), params, mean, square)
    return Adam(mean, square, adam.updates + 1), moved


def rate(updates: Array) -> Array:
    """The learning rate, which halves every so many updates."""
    return RATE * 0.5 ** (updates / HALF_LIFE)
