"""Advantage actor-critic: what an update minimises."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from networks import Params, forward

DISCOUNT, TRACE = 0.99, 0.95


class Rollout(NamedTuple):
    observation: Array  # (time, env, feature)
    action: Array  # (time, env)
    reward: Array  # (time, env)
    done: Array  # (time, env)


def targets(rollout: Rollout, next_values: Array) -> Array:
    """What each situation turned out to be worth: its reward, and the value of the next one."""
    return rollout.reward + DISCOUNT * (1 - rollout.done) * next_values


def advantages(rollout: Rollout, values: Array, next_values: Array) -> Array:
    """Generalised advantage estimation: how much better it went than expected, from here on."""

    def backwards(later, now):
        step, value, next_value = now
        alive = 1 - step.done
        surprise = step.reward + DISCOUNT * alive * next_value - value
        advantage = surprise + DISCOUNT * TRACE * later
        return advantage, advantage

    start, steps = jnp.zeros_like(values[0]), (rollout, values, next_values)
    return jax.lax.scan(backwards, start, steps, reverse=True)[1]


def actor_critic(params: Params, rollout: Rollout, last_observation: Array) -> Array:
    logits, values = forward(params, rollout.observation)
    _, last_value = forward(params, last_observation)
    next_values = jnp.concatenate([values[1:], last_value[None]])[..., 0]

    target = targets(rollout, next_values)
    value_loss = jnp.mean((values - target) ** 2)

    advantage = jax.lax.stop_gradient(advantages(rollout, values[..., 0], next_values))
    log_policy = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_policy, rollout.action[..., None], axis=-1)[..., 0]
    return 0.5 * value_loss - jnp.mean(chosen * advantage)
