"""A short chain of Hamiltonian Monte Carlo on a banana-shaped density, one chain a lane."""

import blackjax
import jax
import jax.numpy as jnp


def log_density(x):
    return -0.5 * (x[0] ** 2 + 5.0 * (x[1] - x[0] ** 2) ** 2)


SAMPLER = blackjax.hmc(log_density, 1e-1, jnp.ones(2), 8)


@jax.jit
def entry(key, starts):
    def chain(key, start):
        def one(state, key):
            state, info = SAMPLER.step(key, state)
            return state, (state.position, info.acceptance_rate)

        return jax.lax.scan(one, SAMPLER.init(start), jax.random.split(key, 10))[1]

    return jax.vmap(chain)(jax.random.split(key, starts.shape[0]), starts)


def inputs():
    return jax.random.key(0), jnp.zeros((3, 2))


AXES = {"starts": "chain dim"}
