"""One training step of a MuZero agent on trajectories inside of which some episodes end."""

# ruff: noqa: E402 - what is imported has to be prepared first.

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank(
    "nle",
    "gym",
    "minihack",
    "jax.experimental.host_callback",
    "omega.models",
    "omega.mcts",
    "omega.neural",
)
package("omega", "omega")
package("omega.agents", "omega/agents")

import types

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import omega.mcts.muzero
import omega.models.nethack_muzero  # noqa: F401
from omega.agents.nethack_muzero_agent import NethackMuZeroAgent

ACTIONS, FEATURES, WIDTH, UNROLL = 3, 4, 6, 2


class Model(nn.Module):
    """The three functions of MuZero, each of one layer."""

    num_actions: int
    reward_dim: int

    def setup(self):
        self.encoder = nn.Dense(WIDTH)
        self.transition = nn.Dense(WIDTH)
        self.reward = nn.Dense(self.reward_dim)
        self.policy = nn.Dense(self.num_actions)
        self.value = nn.Dense(1)

    def latent_state_shape(self):
        return (WIDTH,)

    def representation(self, observations, rng, deterministic=None):
        return nn.tanh(self.encoder(observations["features"]))

    def dynamics(self, latent_state, action, rng, deterministic=None):
        x = jnp.concatenate([latent_state, jax.nn.one_hot(action, self.num_actions)])
        return nn.tanh(self.transition(x)), nn.log_softmax(self.reward(x))

    def prediction(self, latent_state, rng, deterministic=None):
        return nn.log_softmax(self.policy(latent_state)), self.value(latent_state)[0]


class Agent(NethackMuZeroAgent):
    """The agent, with abstract methods that it does not need here."""


space = types.SimpleNamespace(shape=(FEATURES,), dtype=jnp.float32)
agent = Agent(
    types.SimpleNamespace(spaces={"features": space}),
    types.SimpleNamespace(n=ACTIONS),
    model_factory=Model,
    replay_buffer=None,
    config={"num_train_unroll_steps": UNROLL},
)


def entry(train_state, acted, replayed, rng):
    batch = agent._make_training_batch_jit(acted, replayed)
    return agent._train_jit(train_state, batch, rng)


def trajectories(rng, batch, time):
    done = np.zeros((batch, time), bool)
    done[0, 2] = done[1, 1] = True
    rewards = rng.choice(np.array([-0.01, 0.0, 1.0], np.float32), (batch, time))
    return {
        "current_state": {"features": rng.normal(size=(batch, time, FEATURES)).astype(np.float32)},
        "actions": rng.integers(ACTIONS, size=(batch, time)).astype(np.int32),
        "rewards": rewards,
        "done": done,
        "metadata": {
            "log_mcts_action_probs": np.log(
                rng.dirichlet(np.ones(ACTIONS), size=(batch, time))
            ).astype(np.float32),
            "mcts_state_values": rng.normal(size=(batch, time)).astype(np.float32),
        },
    }


def inputs():
    rng = np.random.default_rng(28)
    acted, replayed = trajectories(rng, 2, 5), trajectories(rng, 3, 5)
    return (
        agent._train_state,
        *jax.tree_util.tree_map(jnp.asarray, (acted, replayed)),
        jax.random.PRNGKey(12),
    )


if __name__ == "__main__":
    run(entry, inputs)
