"""Filter observations of two outputs with an ensemble Kalman filter."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import old_jax, on_path, run

on_path()
old_jax()

import jax
import jax.numpy as jnp
import numpy as np
from rebayes.extended_kalman_filter import ekf_core

AXES = {"ensemble": "member state", "features": "time _", "targets": "time output"}


def predict(state, features):
    return jnp.tanh(state.reshape(2, -1) @ features)


def noise(state, features):
    return jnp.array([[0.2, 0.05], [0.05, 0.3]])


def entry(key, ensemble, features, targets):
    def step(ensemble, row):
        key, x, y = row
        ensemble = ekf_core._ensemble_stochastic_condition_on(key, ensemble, predict, noise, x, y)
        return ensemble, ensemble.mean(axis=0)

    return jax.lax.scan(step, ensemble, (jax.random.split(key, len(targets)), features, targets))


def inputs():
    rng = np.random.default_rng(24)
    ensemble = rng.normal(size=(7, 6))
    features = rng.normal(size=(4, 3))
    targets = rng.uniform(-1.0, 1.0, (4, 2))
    return jax.random.PRNGKey(3), jnp.asarray(ensemble), jnp.asarray(features), jnp.asarray(targets)


if __name__ == "__main__":
    run(entry, inputs)
