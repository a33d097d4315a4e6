"""A rollout of several cart-pole environments under a random linear policy."""

import gymnax
import jax
import jax.numpy as jnp

ENV, PARAMS = gymnax.make("CartPole-v1")


@jax.jit
def entry(weights, key):
    key, reset_key = jax.random.split(key)
    obs, state = jax.vmap(ENV.reset, in_axes=(0, None))(jax.random.split(reset_key, 4), PARAMS)

    def step(carry, key):
        obs, state = carry
        act_key, step_key = jax.random.split(key)
        action = jax.random.categorical(act_key, obs @ weights)
        keys = jax.random.split(step_key, 4)
        obs, state, reward, *ends, _ = jax.vmap(ENV.step, in_axes=(0, 0, 0, None))(
            keys, state, action, PARAMS
        )
        return (obs, state), (reward, ends)

    _, (rewards, ends) = jax.lax.scan(step, (obs, state), jax.random.split(key, 12))
    return rewards.sum(axis=0), ends


def inputs():
    return jnp.ones((4, 2)), jax.random.key(0)


AXES = {"weights": "obs action"}
