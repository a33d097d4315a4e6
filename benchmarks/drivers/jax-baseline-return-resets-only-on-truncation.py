"""The targets that A2C computes from a rollout: episodes end, some by truncation."""

import jax
import jax.numpy as jnp
from stand_ins import on_path, package, run

on_path()
# The package's own `__init__` files import its environments and loggers.
package("jax_baselines", "jax_baselines")
package("jax_baselines.common", "jax_baselines/common")

from jax_baselines.common.returns import discount_with_terminated  # noqa: E402

GAMMA = 0.97
AXES = dict.fromkeys(
    ("rewards", "terminateds", "truncateds", "next_values"), ("worker", "time", "unit")
)


def entry(rewards, terminateds, truncateds, next_values):
    return jax.vmap(discount_with_terminated, in_axes=(0, 0, 0, 0, None))(
        rewards, terminateds, truncateds, next_values, GAMMA
    )


def inputs():
    reward_key, value_key = jax.random.split(jax.random.key(0))
    terminateds = jnp.zeros((3, 7, 1)).at[0, 2].set(1.0).at[2, 4].set(1.0)
    truncateds = jnp.zeros((3, 7, 1)).at[1, 3].set(1.0)
    return (
        jax.random.normal(reward_key, (3, 7, 1)),
        terminateds,
        truncateds,
        jax.random.normal(value_key, (3, 7, 1)),
    )


if __name__ == "__main__":
    run(entry, inputs)
