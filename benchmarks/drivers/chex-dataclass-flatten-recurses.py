"""Clip the gradient of each layer of a dataclass of layers by the norm of that layer."""
# ruff: noqa: E402

from stand_ins import old_jax, package, run, stand_in

old_jax()
# The package's other modules ask for more names that JAX had.
package("chex", "chex")
package("chex._src", "chex/_src")
stand_in("jax.util", unzip2=lambda pairs: tuple(zip(*pairs, strict=True)))

import jax
import jax.numpy as jnp
from chex._src.dataclass import dataclass


@dataclass
class Layer:
    w: jax.Array
    b: jax.Array


@dataclass
class Network:
    hidden: Layer
    out: Layer


AXES = {"x": "batch feature", "y": "batch"}


def forward(network, x):
    h = jnp.tanh(x @ network.hidden.w + network.hidden.b)
    return (h @ network.out.w + network.out.b)[:, 0]


def clipped(gradient):
    """A gradient, scaled so that its norm is at most 0.1."""
    squares = [jnp.sum(jnp.square(x)) for x in jax.tree_util.tree_leaves(gradient)]
    scale = jnp.minimum(1.0, 0.1 / jnp.sqrt(sum(squares)))
    return jax.tree_util.tree_map(lambda x: x * scale, gradient)


def entry(network, x, y):
    def loss(network):
        return jnp.mean(jnp.square(forward(network, x) - y))

    gradients = jax.grad(loss)(network)
    gradients = jax.tree_util.tree_map(
        clipped, gradients, is_leaf=lambda node: isinstance(node, Layer)
    )
    return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, network, gradients)


def inputs():
    keys = jax.random.split(jax.random.key(0), 6)
    network = Network(
        hidden=Layer(w=jax.random.normal(keys[0], (4, 3)), b=jax.random.normal(keys[1], (3,))),
        out=Layer(w=jax.random.normal(keys[2], (3, 1)), b=jax.random.normal(keys[3], (1,))),
    )
    return network, jax.random.normal(keys[4], (5, 4)), jax.random.normal(keys[5], (5,))


if __name__ == "__main__":
    run(entry, inputs)
