"""A few steps of brax's inverted pendulum in several environments."""

import jax
import jax.numpy as jnp
from brax import envs

ENV = envs.training.wrap(envs.get_environment("fast"), episode_length=20)


@jax.jit
def entry(key, actions):
    state = ENV.reset(jax.random.split(key, 4))

    def step(state, action):
        state = ENV.step(state, action)
        return state, (state.reward, state.done)

    _, (rewards, dones) = jax.lax.scan(step, state, actions)
    return rewards.sum(axis=0), dones


def inputs():
    return jax.random.PRNGKey(0), jnp.zeros((6, 4, ENV.action_size))


AXES = {"actions": "time env action"}
