"""Collect self-play experience of several environments into the ranked-reward replay buffer."""
# ruff: noqa: E402

from stand_ins import old_jax, on_path, run

old_jax()
on_path()

import jax
import jax.numpy as jnp
from core_jax.utils.ranked_reward_replay_memory import RankedRewardReplayBuffer

AXES = {
    "observations": "time env feature",
    "rewards": "time env one",
    "terminated": "time env",
}

buffer = RankedRewardReplayBuffer(
    batch_size=3, max_len_per_batch=8, sample_batch_size=2, episode_reward_memory_len_per_batch=4
)


def entry(state, observations, rewards, terminated):
    def step(state, moment):
        observation, reward, ended = moment
        state = buffer.add_experience(state, observation)
        return buffer.assign_rewards(state, reward, ended), None

    state, _ = jax.lax.scan(step, state, (observations, rewards, terminated))
    return state


def inputs():
    observation, reward, past = jax.random.split(jax.random.key(0), 3)
    state = buffer.init(jnp.zeros(6))
    # Earlier games, of which each environment has finished another number.
    state = state.replace(
        raw_reward_buffer=jax.random.normal(past, state.raw_reward_buffer.shape),
        next_raw_reward_index=jnp.array([2, 0, 3], jnp.int32),
    )
    terminated = jnp.array(
        [[0, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 0]],
        bool,
    )
    observations = jax.random.normal(observation, (5, 3, 6))
    return state, observations, jax.random.normal(reward, (5, 3, 1)), terminated


if __name__ == "__main__":
    run(entry, inputs)
