"""Learn to balance the pole: python train.py."""

import statistics
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

import env
import networks
import optimiser
from losses import Rollout, actor_critic

ENVS, STEPS = 32, 32


class Learner(NamedTuple):
    params: networks.Params
    adam: optimiser.Adam
    states: Array  # (env, state)


def act(key: Array, logits: Array) -> Array:
    return jax.random.categorical(key, logits)


def collect(params: networks.Params, states: Array, key: Array) -> tuple[Array, Rollout]:
    """Let the policy drive every environment for some steps."""

    def step(states, key):
        observation = env.normalise(env.observe(states))
        observation = jnp.clip(observation, -5.0, 5.0)
        logits, _ = networks.forward(params, observation)
        acting, resetting = jax.random.split(key)
        action = act(acting, logits)
        states, done = jax.vmap(env.step)(jax.random.split(resetting, ENVS), states, action)
        return states, Rollout(observation, action, 1 - done, done)

    return jax.lax.scan(step, states, jax.random.split(key, STEPS))


@jax.jit
def update(learner: Learner, key: Array) -> tuple[Learner, Array]:
    """One update of the parameters, and for how many steps the pole stayed up meanwhile."""
    states, rollout = collect(learner.params, learner.states, key)
    last = jnp.clip(env.normalise(env.observe(states)), -5.0, 5.0)
    gradient = jax.grad(actor_critic)(learner.params, rollout, last)
    adam, params = optimiser.apply(learner.adam, learner.params, gradient)
    upright = rollout.done.size / (rollout.done.sum() + 1)
    return Learner(params, adam, states), upright


@jax.jit
def start(key: Array) -> Learner:
    making, resetting = jax.random.split(key)
    params = networks.init(making)
    states = jax.vmap(env.reset)(jax.random.split(resetting, ENVS))
    return Learner(params, optimiser.init(params), states)


def train(updates: int, seed: int = 0) -> list[float]:
    """The average time between two falls, in steps, in each of some updates."""
    learner = start(jax.random.key(seed))
    history = []
    for key in jax.random.split(jax.random.key(seed + 1), updates):
        learner, upright = update(learner, key)
        history.append(upright)
    return [float(upright) for upright in history]


# What `update` may be called with, and what the axes of that mean, for an audit.
PARAMS = {"hidden": "feature hidden", "policy": "hidden action", "value": "hidden _"}
AXES = {"learner": {"params": PARAMS, "states": "env feature"}}


def example() -> tuple[Learner, Array]:
    return start(jax.random.key(0)), jax.random.key(1)


if __name__ == "__main__":
    history = train(updates=80)
    for first in range(0, len(history), 20):
        mean = statistics.mean(history[first : first + 20])
        print(f"updates {first:2} to {first + 19}: the pole stays up for {mean:.0f} steps")
