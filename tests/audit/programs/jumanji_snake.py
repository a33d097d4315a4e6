"""A rollout of jumanji's snake in several environments, under a random policy of legal moves."""

import jax
import jax.numpy as jnp
import jumanji
from jumanji.wrappers import AutoResetWrapper

ENV = AutoResetWrapper(jumanji.make("Snake-v1", num_rows=4, num_cols=5))


@jax.jit
def entry(key, logits):
    reset_key, key = jax.random.split(key)
    envs = 3
    state, timestep = jax.vmap(ENV.reset)(jax.random.split(reset_key, envs))

    def step(carry, key):
        state, timestep = carry
        legal = jnp.where(timestep.observation.action_mask, logits, -jnp.inf)
        action = jax.random.categorical(key, legal)
        state, timestep = jax.vmap(ENV.step)(state, action)
        return (state, timestep), (timestep.reward, timestep.last())

    _, (rewards, ends) = jax.lax.scan(step, (state, timestep), jax.random.split(key, 8))
    return rewards.sum(axis=0), ends


def inputs():
    return jax.random.PRNGKey(0), jnp.zeros(4)


AXES = {"logits": "action"}
