"""Evolution strategy with covariance matrix adaptation, after Hansen's tutorial."""

import dataclasses
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np


@partial(
    jax.tree_util.register_dataclass,
    data_fields=["mean", "sigma", "cov", "path_sigma", "path_cov", "generation"],
    meta_fields=[],
)
@dataclasses.dataclass(frozen=True)
class State:
    mean: jax.Array
    sigma: jax.Array
    cov: jax.Array
    path_sigma: jax.Array
    path_cov: jax.Array
    generation: jax.Array


class CMAES:
    def __init__(self, dim, population):
        self.dim, self.population = dim, population
        self.parents = population // 2
        raw = math.log((population + 1) / 2) - np.log(np.arange(1, self.parents + 1))
        self.weights = raw / raw.sum()
        self.mu_eff = 1.0 / float((self.weights**2).sum())
        mu, n = self.mu_eff, dim
        self.c_sigma = (mu + 2) / (n + mu + 5)
        self.d_sigma = 1 + 2 * max(0.0, math.sqrt((mu - 1) / (n + 1)) - 1) + self.c_sigma
        self.c_cov = (4 + mu / n) / (n + 4 + 2 * mu / n)
        self.c_1 = 2 / ((n + 1.3) ** 2 + mu)
        self.c_mu = min(1 - self.c_1, 2 * (mu - 2 + 1 / mu) / ((n + 2) ** 2 + mu))
        self.chi = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n**2))

    def init(self, mean, sigma):
        zeros = jnp.zeros(self.dim)
        return State(
            mean=mean,
            sigma=jnp.asarray(sigma, mean.dtype),
            cov=jnp.eye(self.dim),
            path_sigma=zeros,
            path_cov=zeros,
            generation=jnp.int32(0),
        )

    def ask(self, state, key):
        eigenvalues, basis = jnp.linalg.eigh(state.cov)
        scale = jnp.sqrt(jnp.maximum(eigenvalues, 1e-20))
        z = jax.random.normal(key, (self.population, self.dim))
        return state.mean + state.sigma * (z * scale) @ basis.T

    def tell(self, state, xs, fitness):
        order = jnp.argsort(fitness)
        best = xs[order[: self.parents]]
        steps = (best - state.mean) / state.sigma
        step = self.weights @ steps
        mean = state.mean + state.sigma * step

        eigenvalues, basis = jnp.linalg.eigh(state.cov)
        inverse_root = (basis / jnp.sqrt(jnp.maximum(eigenvalues, 1e-20))) @ basis.T
        path_sigma = (1 - self.c_sigma) * state.path_sigma + math.sqrt(
            self.c_sigma * (2 - self.c_sigma) * self.mu_eff
        ) * (inverse_root @ step)
        norm = jnp.linalg.norm(path_sigma)
        sigma = state.sigma * jnp.exp(self.c_sigma / self.d_sigma * (norm / self.chi - 1))

        generation = state.generation + 1
        expected = jnp.sqrt(1 - (1 - self.c_sigma) ** (2.0 * generation)) * self.chi
        small = norm < (1.4 + 2 / (self.dim + 1)) * expected
        path_cov = (1 - self.c_cov) * state.path_cov + jnp.where(
            small, math.sqrt(self.c_cov * (2 - self.c_cov) * self.mu_eff), 0.0
        ) * step
        lost = jnp.where(small, 0.0, self.c_cov * (2 - self.c_cov))
        rank_one = jnp.outer(path_cov, path_cov) + lost * state.cov
        rank_mu = (steps.T * self.weights) @ steps
        cov = (1 - self.c_1 - self.c_mu) * state.cov + self.c_1 * rank_one + self.c_mu * rank_mu
        return State(mean, sigma, (cov + cov.T) / 2, path_sigma, path_cov, generation)


def rosenbrock(x):
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


STRATEGY = CMAES(dim=5, population=12)
GENERATIONS = 400


def generation(state, key):
    xs = STRATEGY.ask(state, key)
    fitness = jax.vmap(rosenbrock)(xs)
    return STRATEGY.tell(state, xs, fitness), fitness.min()


@jax.jit
def entry(mean, key):
    state = STRATEGY.init(mean, 0.5)
    return jax.lax.scan(generation, state, jax.random.split(key, GENERATIONS))


def inputs():
    return jnp.full(5, -1.0), jax.random.key(3)


AXES = {"mean": "dim"}


def tell_in_numpy(state, xs, fitness):
    n, count = 5, 12
    ranked = xs[np.argsort(fitness)][: count // 2]
    weights = np.array([math.log(6.5) - math.log(i) for i in range(1, 7)])
    weights /= weights.sum()
    mu = 1 / np.sum(weights**2)
    c_s = (mu + 2) / (n + mu + 5)
    c_c = (4 + mu / n) / (n + 4 + 2 * mu / n)
    c_1 = 2 / ((n + 1.3) ** 2 + mu)
    c_mu = min(1 - c_1, 2 * (mu - 2 + 1 / mu) / ((n + 2) ** 2 + mu))
    d_s = 1 + 2 * max(0, math.sqrt((mu - 1) / (n + 1)) - 1) + c_s
    chi = math.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))
    mean = sum(w * x for w, x in zip(weights, ranked, strict=True))
    y = (mean - state["mean"]) / state["sigma"]
    values, vectors = np.linalg.eigh(state["cov"])
    whitened = vectors @ np.diag(values**-0.5) @ vectors.T @ y
    p_s = (1 - c_s) * state["path_sigma"] + math.sqrt(c_s * (2 - c_s) * mu) * whitened
    length = np.linalg.norm(p_s)
    bound = math.sqrt(1 - (1 - c_s) ** (2 * (state["generation"] + 1)))
    h = float(length / bound < (1.4 + 2 / (n + 1)) * chi)
    p_c = (1 - c_c) * state["path_cov"] + h * math.sqrt(c_c * (2 - c_c) * mu) * y
    cov = (1 - c_1 - c_mu) * state["cov"]
    cov = cov + c_1 * (np.outer(p_c, p_c) + (1 - h) * c_c * (2 - c_c) * state["cov"])
    for w, x in zip(weights, ranked, strict=True):
        d = (x - state["mean"]) / state["sigma"]
        cov = cov + c_mu * w * np.outer(d, d)
    sigma = state["sigma"] * math.exp(c_s / d_s * (length / chi - 1))
    return {"mean": mean, "sigma": sigma, "cov": cov, "path_sigma": p_s, "path_cov": p_c}


def check():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    for scale in (0.1, 3.0):  # a path that grows slowly, and one that is stalled
        fields = {
            "mean": rng.normal(size=5),
            "sigma": 0.7,
            "cov": root @ root.T + np.eye(5),
            "path_sigma": scale * rng.normal(size=5),
            "path_cov": rng.normal(size=5),
            "generation": 4,
        }
        xs, fitness = rng.normal(size=(12, 5)), rng.normal(size=12)
        expected = tell_in_numpy(fields, xs, fitness)
        state = State(**{name: jnp.asarray(it) for name, it in fields.items()})
        state = STRATEGY.tell(state, jnp.asarray(xs), jnp.asarray(fitness))
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(state, name), value, rtol=2e-3, atol=1e-4)

    state, best = entry(*inputs())
    np.testing.assert_allclose(state.mean, np.ones(5), atol=1e-2)
    assert best[0] > 10.0, best[0]
    assert best[-1] < 1e-4, best[-1]
