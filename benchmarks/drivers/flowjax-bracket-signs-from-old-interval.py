"""Invert a block neural autoregressive network at points outside of the first bracket."""
# ruff: noqa: E402

from stand_ins import old_jax, package, run

old_jax()
package("flowjax", "flowjax")

import equinox as eqx
import flowjax.utils
import jax
import jax.numpy as jnp
import numpy as np
from flowjax.bijections import BlockAutoregressiveNetwork
from flowjax.bisection_search import AutoregressiveBisectionInverter

# A traced array was an instance of `jax.typing.ArrayLike` when this was written.
flowjax.utils.ArrayLike = (jax.Array, np.ndarray, int, float)

AXES = {"y": "batch dim"}

network = BlockAutoregressiveNetwork(
    jax.random.key(0),
    dim=3,
    cond_dim=None,
    depth=1,
    block_dim=4,
    inverter=AutoregressiveBisectionInverter(lower=-1.0, upper=1.0, tol=1e-4, max_iter=50),
)
weights, static = eqx.partition(network, eqx.is_inexact_array)


def entry(weights, y):
    bijection = eqx.combine(weights, static)
    return jax.vmap(bijection.inverse)(y)


def inputs():
    x = jnp.array([[0.3, -0.7, 0.5], [5.0, -6.5, 2.5], [-4.0, 3.3, 9.0], [0.1, 1.7, -2.2]])
    return weights, jax.vmap(network.transform)(x)


if __name__ == "__main__":
    run(entry, inputs)
