"""One training step of conservative Q-learning on a small offline dataset."""
# ruff: noqa: E402

import os

from stand_ins import blank, on_path, run

on_path("algorithms")
blank("d4rl", "gym", "tyro", "wandb")

import jax
import jax.numpy as jnp

flags = os.environ.get("XLA_FLAGS", "")
import cql

os.environ["XLA_FLAGS"] = flags  # The import has replaced them by a flag for GPUs.

OBS, ACTIONS, TRANSITIONS = 6, 2, 9

AXES = {
    "dataset": cql.Transition(
        obs="transition feature",
        action="transition action",
        reward="transition",
        next_obs="transition feature",
        done="transition",
    )
}

args = cql.Args(batch_size=4, num_critics=3)
actor = cql.TanhGaussianActor(ACTIONS)
critics = cql.VectorQ(args.num_critics)
alpha = cql.EntropyCoef()


def entry(rng, agent_state, dataset):
    train_step = cql.make_train_step(args, actor.apply, critics.apply, alpha.apply, dataset)
    return train_step((rng, agent_state), None)


def inputs():
    rng, actor_key, critic_key, target_key, alpha_key, *keys = jax.random.split(
        jax.random.key(0), 9
    )
    obs, action = jnp.zeros(OBS), jnp.zeros(ACTIONS)
    agent_state = cql.AgentTrainState(
        actor=cql.create_train_state(args, actor_key, actor, [obs], args.actor_lr),
        vec_q=cql.create_train_state(args, critic_key, critics, [obs, action]),
        vec_q_target=cql.create_train_state(args, target_key, critics, [obs, action]),
        alpha=cql.create_train_state(args, alpha_key, alpha, []),
    )
    dataset = cql.Transition(
        obs=jax.random.normal(keys[0], (TRANSITIONS, OBS)),
        action=jax.random.uniform(keys[1], (TRANSITIONS, ACTIONS), minval=-0.9, maxval=0.9),
        reward=jax.random.normal(keys[2], (TRANSITIONS,)),
        next_obs=jax.random.normal(keys[3], (TRANSITIONS, OBS)),
        done=(jnp.arange(TRANSITIONS) % 3 == 1).astype(jnp.float32),
    )
    return rng, agent_state, dataset


if __name__ == "__main__":
    run(entry, inputs)
