"""Fit a conditional spline coupling layer by maximum likelihood."""
# ruff: noqa: E402

from stand_ins import old_jax, on_path, run

old_jax()
on_path()

import equinox as eqx
import jax
import jax.numpy as jnp
from flowjax.bijections.coupling import Coupling
from flowjax.bijections.parameterised import RationalQuadraticSpline
from jax.scipy.stats import norm

AXES = {"x": "batch dim", "condition": "batch cond"}

layer = Coupling(
    jax.random.key(0),
    RationalQuadraticSpline(K=6, B=4),
    d=2,
    D=5,
    cond_dim=3,
    nn_width=8,
    nn_depth=1,
)
weights, static = eqx.partition(layer, eqx.is_inexact_array)


def entry(weights, x, condition):
    def loss(weights):
        coupling = eqx.combine(weights, static)
        transform = jax.vmap(coupling.transform_and_log_abs_det_jacobian)
        z, log_det = transform(x, condition)
        return -jnp.mean(norm.logpdf(z).sum(axis=-1) + log_det)

    return jax.value_and_grad(loss)(weights)


def inputs():
    x, condition = jax.random.split(jax.random.key(1))
    return weights, jax.random.normal(x, (4, 5)), jax.random.normal(condition, (4, 3))


if __name__ == "__main__":
    run(entry, inputs)
