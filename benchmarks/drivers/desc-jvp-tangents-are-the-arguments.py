"""Jacobian-vector product of a residual with respect to one of its arguments."""
# ruff: noqa: E402

import sys
from types import SimpleNamespace

from stand_ins import blank, on_path, package, run

on_path()
package("desc", "desc").__version__ = "0"
blank("colorama", "termcolor")

import jax
import jax.numpy as jnp
import numpy as np

sys.modules["jax.config"] = SimpleNamespace(config=jax.config)  # Where JAX had it.

from desc.derivatives import AutoDiffDerivative

AXES = {"tangent": "power"}

# DESC perturbs an equilibrium that it has, so these are numbers and not traced.
X = np.array([0.3, -1.2, 0.8, 2.0])
PRESSURE = np.array([-0.5, 0.1, 1.4])
FLUX = 1.7


def residuals(x, pressure, flux):
    radius = jnp.linspace(0.0, 1.0, 5)
    return jnp.polyval(x, radius) * flux - jnp.polyval(pressure, radius) ** 2


def entry(tangent):
    return AutoDiffDerivative(residuals, argnum=1, mode="jvp")(tangent, X, PRESSURE, FLUX)


def inputs():
    return (jnp.array([0.2, -0.3, 0.7]),)


if __name__ == "__main__":
    run(entry, inputs)
