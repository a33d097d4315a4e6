"""Predict how much a Gauss-Newton step reduces the cost, as DESC's least squares solver does."""
# ruff: noqa: E402

import sys
from types import SimpleNamespace

from stand_ins import blank, on_path, package, run, stand_in

on_path()
package("desc", "desc").__version__ = "0"
package("desc.optimize", "desc/optimize")
blank("colorama", "numba", "termcolor")
stand_in("numba", njit=lambda: lambda function: function)

import jax
import jax.numpy as jnp

sys.modules["jax.config"] = SimpleNamespace(config=jax.config)  # Where JAX had it.

from desc.optimize.derivative import SVDJacobian
from desc.optimize.utils import evaluate_quadratic_form

AXES = {"x": "parameter", "times": "residual", "data": "residual"}


def residuals(x, times, data):
    return x[0] * jnp.exp(-x[1] * times) + x[2] * times - data


def entry(x, times, data):
    f = residuals(x, times, data)
    jacobian = SVDJacobian(f.size, x.size, init_jac=jax.jacfwd(residuals)(x, times, data))
    _, scale_inverse = jacobian.get_scale()
    scale = 1 / scale_inverse
    g = jax.grad(lambda x: 0.5 * jnp.sum(jnp.square(residuals(x, times, data))))(x)
    step = -jacobian.solve(f) / scale
    return step, -evaluate_quadratic_form(step, 0, g, jacobian, scale=scale)


def inputs():
    times = jnp.linspace(0.1, 2.0, 5)
    noise = 0.1 * jax.random.normal(jax.random.key(0), (5,))
    return jnp.array([1.5, 0.7, -0.4]), times, 2.0 * jnp.exp(-1.1 * times) + noise


if __name__ == "__main__":
    run(entry, inputs)
