"""Fit a neural spline flow by maximum likelihood."""
# ruff: noqa: E402

from stand_ins import old_jax, on_path, run

old_jax()
on_path()

import equinox as eqx
import jax
from flowjax.flows import NeuralSplineFlow

AXES = {"x": "batch dim"}

flow = NeuralSplineFlow(
    jax.random.key(0), target_dim=5, K=4, B=5, num_layers=2, nn_width=8, nn_depth=1
)
weights, static = eqx.partition(flow, eqx.is_inexact_array)


def entry(weights, x):
    def loss(weights):
        return -eqx.combine(weights, static).log_prob(x, x[:, :0]).mean()

    return jax.value_and_grad(loss)(weights)


def inputs():
    return weights, jax.random.normal(jax.random.key(1), (4, 5))


if __name__ == "__main__":
    run(entry, inputs)
