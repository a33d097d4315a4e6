"""Step three brax-like environments through ARLBench's adapter."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("gym", "envpool", "brax", "ConfigSpace")
package("arlbench", "arlbench")
package("arlbench.core.environments", "arlbench/core/environments")

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from arlbench.core.environments.brax_env import BraxEnv


class State(NamedTuple):
    """What brax keeps of an environment, as far as the adapter uses it."""

    obs: Any
    reward: Any
    done: Any


class Cart:
    """A cart on a line, wrapped as by brax: every array has a leading axis of environments."""

    observation_size, action_size = 2, 1

    def reset(self, rng):
        obs = jax.vmap(lambda key: jax.random.uniform(key, (2,)))(rng)
        return State(obs, jnp.zeros(len(rng)), jnp.zeros(len(rng)))

    def step(self, state, action):
        position, speed = state.obs[..., :1], state.obs[..., 1:]
        speed = speed + 0.1 * action
        obs = jnp.concatenate([position + speed, speed], axis=-1)
        return State(obs, -jnp.abs(obs[..., 0]), (jnp.abs(obs[..., 0]) > 1.0).astype(jnp.float32))


env = BraxEnv(Cart(), 3)


def entry(key, actions):
    state, obs = env.reset(key)

    def step(state, action):
        state, (obs, reward, done, _) = env.step(state, action, key)
        return state, (obs, reward, done)

    return obs, jax.lax.scan(step, state, actions)


def inputs():
    actions = np.random.default_rng(26).normal(size=(5, 3, 1))
    return jax.random.PRNGKey(8), jnp.asarray(actions)


if __name__ == "__main__":
    run(entry, inputs)
