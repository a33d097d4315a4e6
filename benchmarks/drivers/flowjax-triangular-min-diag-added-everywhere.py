"""Fit a normal distribution under a triangular affine map by maximum likelihood."""
# ruff: noqa: E402

from stand_ins import old_jax, on_path, run

old_jax()
on_path()

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax.bijections import TriangularAffine
from flowjax.distributions import Normal, Transformed

AXES = {"x": "batch dim"}

matrix = jnp.array([[1.5, 0.0, 0.0], [0.4, 0.8, 0.0], [-0.7, 0.2, 2.1]])
flow = Transformed(
    Normal(jnp.array([0.1, -0.3, 0.6])),
    TriangularAffine(jnp.array([0.5, -1.0, 2.0]), matrix, min_diag=1e-2),
)
weights, static = eqx.partition(flow, eqx.is_inexact_array)


def entry(weights, x):
    def loss(weights):
        return -eqx.combine(weights, static).log_prob(x).mean()

    return jax.value_and_grad(loss)(weights)


def inputs():
    return weights, jax.random.normal(jax.random.key(1), (5, 3))


if __name__ == "__main__":
    run(entry, inputs)
