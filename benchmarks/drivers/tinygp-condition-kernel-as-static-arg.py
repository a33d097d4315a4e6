"""Condition a Gaussian process with a quasiseparable kernel on observations and smooth them."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, run

on_path("src")
old_jax()
blank("tinygp.tinygp_version")

import jax.numpy as jnp
import numpy as np
from tinygp import GaussianProcess, kernels

AXES = {"times": "observation", "values": "observation"}
kernel = kernels.quasisep.Matern32(scale=1.4)


def entry(times, values):
    gp = GaussianProcess(kernel, times, diag=0.1)
    _, conditioned = gp.condition(values)
    return conditioned.loc, conditioned.variance


def inputs():
    rng = np.random.default_rng(21)
    times = np.sort(rng.uniform(0.0, 5.0, 6))
    values = np.sin(times) + 0.1 * rng.normal(size=6)
    return jnp.asarray(times), jnp.asarray(values)


if __name__ == "__main__":
    run(entry, inputs)
