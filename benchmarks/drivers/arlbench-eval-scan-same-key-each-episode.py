"""Evaluate a policy for several episodes of CartPole, a few environments at a time."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("gym", "envpool", "brax", "ConfigSpace")
package("arlbench", "arlbench")
package("arlbench.core.environments", "arlbench/core/environments")
package("arlbench.core.algorithms", "arlbench/core/algorithms")

import functools
from typing import Any, NamedTuple

import gymnax
import jax
import jax.numpy as jnp
import numpy as np
from arlbench.core.algorithms.algorithm import Algorithm
from arlbench.core.environments.gymnax_env import GymnaxEnv


class RunnerState(NamedTuple):
    """What an algorithm of the package carries along, as far as evaluation uses it."""

    rng: Any
    params: Any


class LinearPolicy(Algorithm):
    """An algorithm with one layer: it pushes the cart by the sign of a weighted sum."""

    def init(self, rng):
        raise NotImplementedError

    def train(self, runner_state, buffer_state):
        raise NotImplementedError

    @staticmethod
    def get_hpo_config_space(seed=None):
        return None

    get_default_hpo_config = get_nas_config_space = get_default_nas_config = get_hpo_config_space

    @functools.partial(jax.jit, static_argnums=0)
    def predict(self, runner_state, obsv, rng=None):
        noise = 0.5 * jax.random.normal(rng, obsv.shape[:1])
        return (obsv @ runner_state.params + noise > 0).astype(jnp.int32)


cart_pole, cart_pole_params = gymnax.make("CartPole-v1")
algorithm = LinearPolicy({}, {}, {}, GymnaxEnv(cart_pole, 3, cart_pole_params))


def entry(runner_state):
    return algorithm.eval(runner_state, 8)


def inputs():
    params = jnp.asarray(np.array([0.1, 0.3, 2.0, 0.9], np.float32))
    return (RunnerState(jax.random.PRNGKey(5), params),)


if __name__ == "__main__":
    run(entry, inputs)
