"""Train soft actor-critic on a few steps of Pendulum, with prioritised replay."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("ConfigSpace")
package("arlbench", "arlbench")
package("arlbench.algorithms", "arlbench/algorithms")

import gymnax
import jax
from arlbench.algorithms.sac import SAC

HYPERPARAMETERS = {
    "buffer_size": 64,
    "buffer_batch_size": 5,
    "buffer_beta": 0.6,
    "lr": 3e-3,
    "gradient steps": 2,
    "policy_delay": 1,
    "gamma": 0.95,
    "tau": 0.05,
    "use_target_network": True,
    "train_frequency": 2,
    "learning_starts": 9,
    "target_network_update_freq": 1,
    "alpha_auto": True,
    "alpha": 0.7,
}

env, env_params = gymnax.make("Pendulum-v1")
algorithm = SAC(
    HYPERPARAMETERS,
    {"n_envs": 3, "n_total_timesteps": 48},
    env,
    env_params,
    nas_config={"activation": "tanh", "hidden_size": 8},
)


def entry(runner_state, buffer_state):
    return algorithm.train(runner_state, buffer_state)[0]


def inputs():
    return algorithm.init(jax.random.PRNGKey(19))


if __name__ == "__main__":
    run(entry, inputs)
