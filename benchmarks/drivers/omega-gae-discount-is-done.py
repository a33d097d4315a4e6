"""Advantages and value targets of a PPO agent, where some of the episodes end inside the batch."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, run

on_path()
old_jax()
blank("nle", "gym", "minihack")

import jax
import jax.numpy as jnp
import numpy as np
from omega.agents.nethack_agent import NethackTransformerAgent


class Agent(NethackTransformerAgent):
    """The agent without its network, which has no part in the targets."""

    def _build_model(self):
        return None, None


agent = Agent(
    observation_space=None, action_space=None, config={"discount_factor": 0.9, "gae_lambda": 0.8}
)
AXES = {
    "trajectories": {
        "rewards": "batch time",
        "done": "batch time",
        "metadata": {"state_values": "batch time", "log_action_probs": "batch time action"},
    }
}


def entry(trajectories):
    return agent._compute_advantage_and_value_targets(trajectories)


def inputs():
    rng = np.random.default_rng(8)
    batch, time, actions = 3, 6, 4
    done = np.zeros((batch, time), bool)
    done[0, 2] = done[1, 0] = done[1, 4] = True
    trajectories = {
        "rewards": rng.normal(size=(batch, time)).astype(np.float32),
        "done": done,
        "metadata": {
            "state_values": rng.normal(size=(batch, time)).astype(np.float32),
            "log_action_probs": np.log(rng.dirichlet(np.ones(actions), size=(batch, time))).astype(
                np.float32
            ),
        },
    }
    return (jax.tree_util.tree_map(jnp.asarray, trajectories),)


if __name__ == "__main__":
    run(entry, inputs)
