"""Policy and value, two heads on one hidden layer."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array


class Params(NamedTuple):
    hidden: Array  # (feature, hidden)
    policy: Array  # (hidden, action)
    value: Array  # (hidden, 1)


def init(key: Array, hidden: int = 64) -> Params:
    first, second, third = jax.random.split(key, 3)
    return Params(
        hidden=jax.random.normal(first, (4, hidden)),
        policy=0.01 * jax.random.normal(second, (hidden, 2)),
        value=0.01 * jax.random.normal(third, (hidden, 1)),
    )


def forward(params: Params, observation: Array) -> tuple[Array, Array]:
    """How much each action is preferred, and what the situation is worth."""
    features = jnp.tanh(observation @ params.hidden)
    return features @ params.policy, features @ params.value
