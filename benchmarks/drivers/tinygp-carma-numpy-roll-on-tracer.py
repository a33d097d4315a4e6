"""Likelihood of a CARMA process, and its gradient, in the parameters of the process."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, run

on_path("src")
old_jax()
blank("tinygp.tinygp_version")

import jax
import jax.numpy as jnp
import numpy as np
from tinygp import GaussianProcess, kernels

AXES = {"times": "observation", "values": "observation"}


def entry(params, times, values):
    def loss(params):
        kernel = kernels.quasisep.CARMA.init(
            alpha=params["alpha"], beta=params["beta"], sigma=params["sigma"]
        )
        gp = GaussianProcess(kernel, times, diag=0.05)
        return -gp.log_probability(values)

    return jax.value_and_grad(loss)(params)


def inputs():
    rng = np.random.default_rng(22)
    times = np.sort(rng.uniform(0.0, 5.0, 7))
    values = np.cos(times) + 0.1 * rng.normal(size=7)
    params = {
        "alpha": jnp.array([1.4, 0.8]),
        "beta": jnp.array([0.3, 0.5]),
        "sigma": jnp.asarray(1.1),
    }
    return params, jnp.asarray(times), jnp.asarray(values)


if __name__ == "__main__":
    run(entry, inputs)
