"""Generations of evosax's CMA-ES on a function of several valleys, from several starts."""

import jax
import jax.numpy as jnp
from evosax.algorithms import CMA_ES

DIMENSIONS = 3
STRATEGY = CMA_ES(population_size=8, solution=jnp.zeros(DIMENSIONS))
PARAMS = STRATEGY.default_params


def rastrigin(x):
    return jnp.sum(x**2 - 3.0 * jnp.cos(2 * jnp.pi * x) + 3.0)


@jax.jit
def entry(key, starts):
    def minimise(key, start):
        init_key, key = jax.random.split(key)
        state = STRATEGY.init(init_key, start, PARAMS)

        def generation(state, key):
            ask_key, tell_key = jax.random.split(key)
            population, state = STRATEGY.ask(ask_key, state, PARAMS)
            fitness = jax.vmap(rastrigin)(population)
            state, _ = STRATEGY.tell(tell_key, population, fitness, state, PARAMS)
            return state, fitness.min()

        state, fitness = jax.lax.scan(generation, state, jax.random.split(key, 10))
        return state.best_solution, fitness

    return jax.vmap(minimise)(jax.random.split(key, len(starts)), starts)


def inputs():
    return jax.random.key(0), jnp.ones((5, DIMENSIONS))


AXES = {"starts": "start dim"}
