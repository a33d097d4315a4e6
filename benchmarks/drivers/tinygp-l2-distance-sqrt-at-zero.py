"""Fit a Gaussian process with a Matern kernel in learned coordinates to points of the plane."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, run

on_path("src")
old_jax()
blank("tinygp.tinygp_version")

import jax
import jax.numpy as jnp
import numpy as np
from tinygp import GaussianProcess, kernels, transforms

AXES = {"X": "point _", "y": "point"}


def loss(params, X, y):
    kernel = kernels.Matern32(jnp.exp(params["log_scale"]), distance=kernels.distance.L2Distance())
    kernel = jnp.exp(params["log_amp"]) * transforms.Linear(params["warp"], kernel)
    gp = GaussianProcess(kernel, X, diag=jnp.exp(params["log_diag"]), mean=params["mean"])
    return -gp.log_probability(y)


def entry(params, X, y):
    return jax.value_and_grad(loss)(params, X, y)


def inputs():
    rng = np.random.default_rng(3)
    X = rng.uniform(-2.0, 3.0, (7, 2))
    y = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.normal(size=7)
    params = {
        "log_amp": -0.2,
        "log_scale": 0.4,
        "log_diag": -1.5,
        "mean": 0.1,
        "warp": np.array([[1.2, -0.3], [0.4, 0.7]]),
    }
    return jax.tree_util.tree_map(jnp.asarray, (params, X, y))


if __name__ == "__main__":
    run(entry, inputs)
