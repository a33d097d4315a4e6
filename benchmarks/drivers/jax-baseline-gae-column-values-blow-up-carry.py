"""The advantages that PPO computes: rewards are flat, the critic's values are columns."""

import jax
import jax.numpy as jnp
from stand_ins import on_path, package, run

on_path()
# The package's own `__init__` files import its environments and loggers.
package("jax_baselines", "jax_baselines")
package("jax_baselines.math", "jax_baselines/math")

from jax_baselines.math.returns import get_gaes  # noqa: E402

GAMMA, LAMBDA = 0.97, 0.9
AXES = {
    "rewards": ("worker", "time"),
    "terminateds": ("worker", "time"),
    "truncateds": ("worker", "time"),
    "values": ("worker", "time", "unit"),
    "next_values": ("worker", "time", "unit"),
}


def entry(rewards, terminateds, truncateds, values, next_values):
    return jax.vmap(get_gaes, in_axes=(0, 0, 0, 0, 0, None, None))(
        rewards, terminateds, truncateds, values, next_values, GAMMA, LAMBDA
    )


def inputs():
    reward_key, value_key, next_key = jax.random.split(jax.random.key(0), 3)
    return (
        jax.random.normal(reward_key, (3, 7)),
        jnp.zeros((3, 7)).at[0, 2].set(1.0).at[2, 4].set(1.0),
        jnp.zeros((3, 7)).at[1, 3].set(1.0),
        jax.random.normal(value_key, (3, 7, 1)),
        jax.random.normal(next_key, (3, 7, 1)),
    )


if __name__ == "__main__":
    run(entry, inputs)
