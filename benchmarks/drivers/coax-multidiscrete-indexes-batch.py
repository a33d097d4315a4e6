"""Preprocess a batch of composite actions as coax does by default, and score them."""

# ruff: noqa: E402 - what is imported has to be prepared first.

import sys

from stand_ins import blank, old_jax, on_path, package, run

on_path()
old_jax()
blank("lz4", "tensorboardX", "PIL")
package("coax", "coax")

import gymnasium

sys.modules.update({"gym": gymnasium, "gym.spaces": gymnasium.spaces})

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
from coax.utils import default_preprocessor

preprocess = default_preprocessor(gymnasium.spaces.MultiDiscrete([3, 5, 4]))
AXES = {"actions": "batch _"}


def q_values(key, actions):
    parts = preprocess(key, actions)
    return jnp.concatenate([hk.nets.MLP([6, 1])(x) for x in parts], axis=-1)


network = hk.transform(q_values)


def entry(params, key, actions):
    return preprocess(key, actions), network.apply(params, key, key, actions)


def inputs():
    rng = np.random.default_rng(9)
    actions = jnp.asarray(rng.integers([3, 5, 4], size=(7, 3)))
    key = jax.random.PRNGKey(2)
    return network.init(key, key, actions), key, actions


if __name__ == "__main__":
    run(entry, inputs)
