"""Hidden Markov model with Gaussian emissions: forward-backward and Baum-Welch in log space."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

STATES, SEQUENCES, TIME, FEATURES = 3, 4, 6, 2
ITERATIONS = 5


class Params(NamedTuple):
    log_initial: jax.Array  # (state,)
    log_transition: jax.Array  # (state, next state)
    means: jax.Array  # (state, feature)
    log_scales: jax.Array  # (state, feature)


class Posterior(NamedTuple):
    log_likelihood: jax.Array
    state: jax.Array  # (time, state): log p(z_t | x)
    pair: jax.Array  # (time - 1, state, next state): log p(z_t, z_{t+1} | x)


def log_emissions(params, xs):
    """The log-densities p(x_t | z_t) for every time and state."""
    scaled = (xs[:, None, :] - params.means) * jnp.exp(-params.log_scales)
    return jnp.sum(
        -0.5 * scaled**2 - params.log_scales - 0.5 * jnp.log(2 * jnp.pi),
        axis=-1,
    )


def forward(params, log_obs):
    def step(alpha, log_ob):
        alpha = logsumexp(alpha[:, None] + params.log_transition, axis=0) + log_ob
        return alpha, alpha

    first = params.log_initial + log_obs[0]
    _, rest = jax.lax.scan(step, first, log_obs[1:])
    return jnp.concatenate([first[None], rest])


def backward(params, log_obs):
    def step(beta, log_ob):
        beta = logsumexp(params.log_transition + (log_ob + beta)[None, :], axis=1)
        return beta, beta

    last = jnp.zeros_like(params.log_initial)
    _, rest = jax.lax.scan(step, last, log_obs[1:], reverse=True)
    return jnp.concatenate([rest, last[None]])


def smooth(params, xs):
    log_obs = log_emissions(params, xs)
    alphas, betas = forward(params, log_obs), backward(params, log_obs)
    log_likelihood = logsumexp(alphas[-1])
    pair = (
        alphas[:-1, :, None]
        + params.log_transition
        + (log_obs[1:] + betas[1:])[:, None, :]
        - log_likelihood
    )
    return Posterior(log_likelihood, alphas + betas - log_likelihood, pair)


def maximise(posteriors, xs):
    """The M step, from the posteriors of all sequences."""
    log_initial = logsumexp(posteriors.state[:, 0], axis=0)
    log_counts = logsumexp(posteriors.pair, axis=(0, 1))
    weights = jnp.exp(posteriors.state)
    total = weights.sum(axis=(0, 1))[:, None]
    means = jnp.einsum("bts,btf->sf", weights, xs) / total
    squares = (xs[:, :, None, :] - means) ** 2
    variances = jnp.einsum("bts,btsf->sf", weights, squares) / total
    return Params(
        log_initial=log_initial - logsumexp(log_initial),
        log_transition=log_counts - logsumexp(log_counts, axis=1, keepdims=True),
        means=means,
        log_scales=0.5 * jnp.log(variances + 1e-6),
    )


@jax.jit
def entry(params, xs):
    """Baum-Welch on a batch of sequences; also the log-likelihood before each iteration."""

    def iteration(params, _):
        posteriors = jax.vmap(smooth, in_axes=(None, 0))(params, xs)
        return maximise(posteriors, xs), posteriors.log_likelihood.sum()

    return jax.lax.scan(iteration, params, length=ITERATIONS)


def inputs():
    rng = np.random.default_rng(0)
    transition = rng.dirichlet(np.full(STATES, 2.0), size=STATES)
    params = Params(
        log_initial=jnp.log(jnp.asarray(rng.dirichlet(np.full(STATES, 2.0)), jnp.float32)),
        log_transition=jnp.log(jnp.asarray(transition, jnp.float32)),
        means=jnp.asarray(rng.normal(size=(STATES, FEATURES)), jnp.float32),
        log_scales=jnp.asarray(0.1 * rng.normal(size=(STATES, FEATURES)), jnp.float32),
    )
    xs = jnp.asarray(rng.normal(size=(SEQUENCES, TIME, FEATURES)), jnp.float32)
    return params, xs


AXES = {
    "params": Params("state", "state state", "state feature", "state feature"),
    "xs": "sequence time feature",
}


def enumerated(params, xs):
    """Likelihood and posteriors of one sequence, by a sum over all paths, in NumPy."""
    initial, transition = np.exp(params.log_initial), np.exp(params.log_transition)
    scales = np.exp(params.log_scales)
    likelihood, state = 0.0, np.zeros((TIME, STATES))
    pair = np.zeros((TIME - 1, STATES, STATES))
    for path in itertools.product(range(STATES), repeat=TIME):
        p = initial[path[0]]
        for a, b in itertools.pairwise(path):
            p *= transition[a, b]
        for x, z in zip(xs, path, strict=True):
            density = np.exp(-0.5 * ((x - params.means[z]) / scales[z]) ** 2)
            p *= np.prod(density / scales[z] / np.sqrt(2 * np.pi))
        likelihood += p
        for t, z in enumerate(path):
            state[t, z] += p
        for t, (a, b) in enumerate(itertools.pairwise(path)):
            pair[t, a, b] += p
    return likelihood, state / likelihood, pair / likelihood


def check():
    params, xs = inputs()
    posteriors = jax.vmap(smooth, in_axes=(None, 0))(params, xs)
    plain = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), params)
    truth = [enumerated(plain, np.asarray(sequence, np.float64)) for sequence in xs]
    likelihoods, states, pairs = map(np.stack, zip(*truth, strict=True))
    np.testing.assert_allclose(posteriors.log_likelihood, np.log(likelihoods), rtol=1e-4)
    np.testing.assert_allclose(np.exp(posteriors.state), states, atol=1e-4)
    np.testing.assert_allclose(np.exp(posteriors.pair), pairs, atol=1e-4)

    # One iteration in NumPy, from the enumerated posteriors.
    new = maximise(posteriors, xs)
    counts = pairs.sum(axis=(0, 1))
    transition = counts / counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.exp(new.log_transition), transition, atol=1e-4)
    np.testing.assert_allclose(np.exp(new.log_initial), states[:, 0].mean(axis=0), atol=1e-4)
    flat, weights = np.asarray(xs).reshape(-1, FEATURES), states.reshape(-1, STATES)
    for z in range(STATES):
        mean = np.average(flat, axis=0, weights=weights[:, z])
        variance = np.average((flat - mean) ** 2, axis=0, weights=weights[:, z])
        np.testing.assert_allclose(new.means[z], mean, atol=1e-3)
        np.testing.assert_allclose(np.exp(2 * new.log_scales[z]), variance, atol=1e-3)

    _, history = entry(params, xs)
    assert np.all(np.diff(history) > 0), history
