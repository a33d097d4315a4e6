"""Train a deep Q-network on a few steps of CartPole in three environments at a time."""

# ruff: noqa: E402 - what is imported has to be prepared first.

import sys

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("ConfigSpace", "brax", "envpool")
package("arlbench", "arlbench")
package("arlbench.core.algorithms", "arlbench/core/algorithms")
package("arlbench.core.environments", "arlbench/core/environments")
package("arlbench.core.wrappers", "arlbench/core/wrappers")

import gymnasium

sys.modules.update({"gym": gymnasium, "gym.spaces": gymnasium.spaces})

import brax.training.acme.types  # noqa: F401
import jax
from arlbench.core.algorithms.dqn import DQN
from arlbench.core.environments.gymnax_env import GymnaxEnv

HYPERPARAMETERS = {
    "buffer_size": 90,
    "buffer_batch_size": 4,
    "buffer_prio_sampling": True,
    "buffer_alpha": 0.9,
    "buffer_beta": 0.6,
    "buffer_epsilon": 1e-5,
    "learning_rate": 3e-3,
    "gamma": 0.95,
    "tau": 0.5,
    "initial_epsilon": 0.9,
    "target_epsilon": 0.05,
    "use_target_network": True,
    "train_freq": 5,
    "gradient_steps": 2,
    "learning_starts": 20,
    "target_update_interval": 12,
    "normalize_observations": True,
}

algorithm = DQN(
    HYPERPARAMETERS,
    GymnaxEnv("CartPole-v1", 3),
    nas_config={"activation": "tanh", "hidden_size": 8},
    track_metrics=True,
)


def entry(runner_state, buffer_state):
    return algorithm.train(
        runner_state, buffer_state, n_total_timesteps=120, n_eval_steps=2, n_eval_episodes=4
    )


def inputs():
    state = algorithm.init(jax.random.PRNGKey(23))
    return state.runner_state, state.buffer_state


if __name__ == "__main__":
    run(entry, inputs)
