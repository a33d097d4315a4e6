"""Hamiltonian Monte Carlo with leapfrog steps, several chains, and step size adaptation."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

CHAINS, DIM, LEAPFROG = 5, 3, 12
WARMUP, SAMPLES = 30, 40
TARGET_ACCEPTANCE = 0.8


class Target(NamedTuple):
    mean: jax.Array  # (dim,)
    precision: jax.Array  # (dim, dim)


class HMCState(NamedTuple):
    position: jax.Array
    log_prob: jax.Array
    grad: jax.Array


class Info(NamedTuple):
    acceptance: jax.Array
    accepted: jax.Array
    energy_error: jax.Array


def log_density(target, x):
    centred = x - target.mean
    return -0.5 * centred @ target.precision @ centred


def make_kernel(log_prob_fn, num_leapfrog):
    value_and_grad = jax.value_and_grad(log_prob_fn)

    def init(position):
        return HMCState(position, *value_and_grad(position))

    def leapfrog(state, momentum, step_size):
        def step(_, carry):
            state, momentum = carry
            momentum = momentum + 0.5 * step_size * state.grad
            state = init(state.position + step_size * momentum)
            momentum = momentum + 0.5 * step_size * state.grad
            return state, momentum

        return jax.lax.fori_loop(0, num_leapfrog, step, (state, momentum))

    def kernel(key, state, step_size):
        momentum_key, accept_key = jax.random.split(key)
        momentum = jax.random.normal(momentum_key, state.position.shape)
        proposal, new_momentum = leapfrog(state, momentum, step_size)
        energy = -state.log_prob + 0.5 * momentum @ momentum
        new_energy = -proposal.log_prob + 0.5 * new_momentum @ new_momentum
        log_ratio = energy - new_energy
        log_ratio = jnp.where(jnp.isnan(log_ratio), -jnp.inf, log_ratio)
        accepted = jnp.log(jax.random.uniform(accept_key)) < log_ratio
        state = jax.tree.map(partial(jnp.where, accepted), proposal, state)
        return state, Info(jnp.exp(jnp.minimum(log_ratio, 0.0)), accepted, log_ratio)

    return init, kernel


@jax.jit
def entry(key, target, starts, step_size):
    """Warm up with a shared step size that is adapted, then sample with the one found."""
    init, kernel = make_kernel(partial(log_density, target), LEAPFROG)
    chains = jax.vmap(kernel, in_axes=(0, 0, None))

    def warmup_step(carry, inputs):
        states, log_step = carry
        key, i = inputs
        states, info = chains(jax.random.split(key, CHAINS), states, jnp.exp(log_step))
        gain = 1.0 / jnp.sqrt(i + 1.0)
        log_step = log_step + gain * (info.acceptance.mean() - TARGET_ACCEPTANCE)
        return (states, log_step), log_step

    def sample_step(states, key):
        states, info = chains(jax.random.split(key, CHAINS), states, step_size)
        return states, (states.position, info)

    warmup_key, sample_key = jax.random.split(key)
    states = jax.vmap(init)(starts)
    (states, log_step), _ = jax.lax.scan(
        warmup_step,
        (states, jnp.log(step_size)),
        (jax.random.split(warmup_key, WARMUP), jnp.arange(WARMUP)),
    )
    step_size = jnp.exp(log_step)
    _, (samples, info) = jax.lax.scan(sample_step, states, jax.random.split(sample_key, SAMPLES))
    return samples, info, step_size


def inputs():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(DIM, DIM))
    precision = root @ root.T + 0.5 * np.eye(DIM)
    target = Target(
        jnp.asarray(rng.normal(size=DIM), jnp.float32), jnp.asarray(precision, jnp.float32)
    )
    starts = jnp.asarray(rng.normal(size=(CHAINS, DIM)), jnp.float32)
    return jax.random.key(0), target, starts, jnp.float32(0.1)


AXES = {"target": Target("dim", "dim dim"), "starts": "chain dim"}


def check():
    key, target, starts, step_size = inputs()
    # A short step keeps the energy, and one that is far too long is rejected.
    key, short_key, long_key = jax.random.split(key, 3)
    init, kernel = make_kernel(partial(log_density, target), 1)
    _, info = kernel(short_key, init(starts[0]), jnp.float32(1e-3))
    assert abs(float(info.energy_error)) < 1e-3
    _, info = kernel(long_key, init(starts[0]), jnp.float32(50.0))
    assert not info.accepted

    kept = []
    for chunk in jax.random.split(key, 60):
        samples, info, found = entry(chunk, target, starts, step_size)
        starts = samples[-1]
        kept.append(np.asarray(samples))
        acceptance = float(info.acceptance.mean())
    assert 0.5 < acceptance < 0.99, acceptance
    assert found > 0.05, found
    flat = np.concatenate(kept).reshape(-1, DIM)
    covariance = np.linalg.inv(np.asarray(target.precision, np.float64))
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose((flat.mean(axis=0) - target.mean) / scale, 0.0, atol=0.1)
    correlation = (np.cov(flat.T) - covariance) / np.outer(scale, scale)
    np.testing.assert_allclose(correlation, 0.0, atol=0.15)
