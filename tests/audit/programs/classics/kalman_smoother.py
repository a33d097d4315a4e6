"""Linear Gaussian state space model: Kalman filter and Rauch-Tung-Striebel smoother by scan."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

STATE, OBSERVED, TIME, SERIES = 3, 2, 7, 4


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["A", "Q", "H", "R", "mean", "cov"],
    meta_fields=[],
)
@dataclass(frozen=True)
class Model:
    A: jax.Array  # x_{t+1} = A x_t + noise of covariance Q
    Q: jax.Array
    H: jax.Array  # y_t = H x_t + noise of covariance R
    R: jax.Array
    mean: jax.Array  # of x_0
    cov: jax.Array


def symmetrised(matrix):
    return 0.5 * (matrix + matrix.T)


def predict(model, mean, cov):
    return model.A @ mean, symmetrised(model.A @ cov @ model.A.T + model.Q)


def update(model, mean, cov, y):
    """Condition on an observation; also its log-density."""
    innovation = y - model.H @ mean
    S = model.H @ cov @ model.H.T + model.R
    gain = jnp.linalg.solve(S, model.H @ cov).T
    chol = jnp.linalg.cholesky(S)
    white = jax.scipy.linalg.solve_triangular(chol, innovation, lower=True)
    log_density = (
        -0.5 * white @ white
        - jnp.log(jnp.diagonal(chol)).sum()
        - 0.5 * y.shape[0] * jnp.log(2 * jnp.pi)
    )
    # Joseph's form stays positive definite in single precision.
    rest = jnp.eye(mean.shape[0]) - gain @ model.H
    cov = rest @ cov @ rest.T + gain @ model.R @ gain.T
    return mean + gain @ innovation, symmetrised(cov), log_density


def kalman_filter(model, ys):
    def step(carry, y):
        mean, cov, total = carry
        mean, cov, log_density = update(model, mean, cov, y)
        return (*predict(model, mean, cov), total + log_density), (mean, cov)

    (_, _, log_likelihood), filtered = jax.lax.scan(step, (model.mean, model.cov, 0.0), ys)
    return log_likelihood, *filtered


def smoother(model, means, covs):
    def step(carry, filtered):
        next_mean, next_cov = carry
        mean, cov = filtered
        predicted_mean, predicted_cov = predict(model, mean, cov)
        gain = jnp.linalg.solve(predicted_cov, model.A @ cov).T
        mean = mean + gain @ (next_mean - predicted_mean)
        cov = symmetrised(cov + gain @ (next_cov - predicted_cov) @ gain.T)
        return (mean, cov), (mean, cov)

    last = means[-1], covs[-1]
    _, (smoothed, smoothed_covs) = jax.lax.scan(step, last, (means[:-1], covs[:-1]), reverse=True)
    return (
        jnp.concatenate([smoothed, last[0][None]]),
        jnp.concatenate([smoothed_covs, last[1][None]]),
    )


@jax.jit
def entry(model, ys):
    """Log-likelihood and smoothed moments of each of several series."""

    def one(ys):
        log_likelihood, means, covs = kalman_filter(model, ys)
        return log_likelihood, *smoother(model, means, covs)

    return jax.vmap(one)(ys)


def inputs():
    rng = np.random.default_rng(0)

    def covariance(size):
        root = rng.normal(size=(size, size))
        return jnp.asarray(root @ root.T / size + 0.2 * np.eye(size), jnp.float32)

    model = Model(
        A=jnp.asarray(0.5 * rng.normal(size=(STATE, STATE)), jnp.float32),
        Q=covariance(STATE),
        H=jnp.asarray(rng.normal(size=(OBSERVED, STATE)), jnp.float32),
        R=covariance(OBSERVED),
        mean=jnp.asarray(rng.normal(size=STATE), jnp.float32),
        cov=covariance(STATE),
    )
    return model, jnp.asarray(rng.normal(size=(SERIES, TIME, OBSERVED)), jnp.float32)


AXES = {"ys": "series time observed"}


def joint(model):
    """Mean and covariance of all states and all observations, stacked, in NumPy."""
    A, Q, H, R, mean, cov = (
        np.asarray(getattr(model, name), np.float64) for name in "A Q H R mean cov".split()
    )
    means, marginals = [mean], [cov]
    for _ in range(TIME - 1):
        means.append(A @ means[-1])
        marginals.append(A @ marginals[-1] @ A.T + Q)
    states = np.zeros((TIME, STATE, TIME, STATE))
    for s in range(TIME):
        cross = marginals[s]
        for t in range(s, TIME):
            states[t, :, s, :] = cross
            states[s, :, t, :] = cross.T
            cross = A @ cross
    states = states.reshape(TIME * STATE, TIME * STATE)
    observe = np.kron(np.eye(TIME), H)
    noise = np.kron(np.eye(TIME), R)
    return np.concatenate(means), states, observe, noise


def check():
    model, series = inputs()
    log_likelihoods, means, covs = entry(model, series)
    mean, cov, observe, noise = joint(model)
    S = observe @ cov @ observe.T + noise
    gain = cov @ observe.T @ np.linalg.inv(S)
    posterior = (cov - gain @ observe @ cov).reshape(TIME, STATE, TIME, STATE)
    for i, ys in enumerate(np.asarray(series, np.float64)):
        residual = ys.reshape(-1) - observe @ mean
        _, log_det = np.linalg.slogdet(2 * np.pi * S)
        exact = -0.5 * residual @ np.linalg.solve(S, residual) - 0.5 * log_det
        np.testing.assert_allclose(log_likelihoods[i], exact, rtol=1e-3)
        smoothed = (mean + gain @ residual).reshape(TIME, STATE)
        np.testing.assert_allclose(means[i], smoothed, atol=1e-3)
        for t in range(TIME):
            np.testing.assert_allclose(covs[i, t], posterior[t, :, t], atol=1e-3)
