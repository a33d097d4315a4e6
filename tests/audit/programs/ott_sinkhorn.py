"""A step of a gradient flow of points towards others, by ott's Sinkhorn divergence."""

import jax
import jax.numpy as jnp
from ott.geometry import pointcloud
from ott.solvers import linear
from ott.tools import sinkhorn_divergence


def divergence(x, y, weights):
    value, _ = sinkhorn_divergence.sinkhorn_divergence(
        pointcloud.PointCloud, x, y, b=weights, epsilon=0.1
    )
    return value


@jax.jit
def entry(x, y, weights):
    loss, grads = jax.value_and_grad(divergence)(x, y, weights)
    x = x - 0.5 * len(x) * grads
    plan = linear.solve(pointcloud.PointCloud(x, y, epsilon=0.1), b=weights)
    return x, loss, plan.apply(y.T, axis=1).T * len(x)


def inputs():
    x_key, y_key = jax.random.split(jax.random.key(0))
    x = jax.random.normal(x_key, (6, 2))
    y = jax.random.normal(y_key, (5, 2)) + 1.0
    return x, y, jnp.full(5, 0.2)


AXES = {"x": "source dim", "y": "target dim", "weights": "target"}
