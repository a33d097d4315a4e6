"""TD errors of a Q-function on a batch with importance weights, as for prioritised replay."""

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
from coax._core.q import Q
from coax.reward_tracing import TransitionBatch
from coax.td_learning import QLearning
from coax.value_losses import mse

FEATURES, ACTIONS = 3, 4


class Env:
    observation_space = gymnasium.spaces.Box(-5.0, 5.0, (FEATURES,), np.float32)
    action_space = gymnasium.spaces.Discrete(ACTIONS)


def values(S, is_training):
    return hk.nets.MLP([8, ACTIONS])(S)


q = Q(values, Env, random_seed=13)
q_learning = QLearning(q, q_targ=q.copy(), loss_function=mse)


def entry(params, batch):
    arguments = (
        params,
        q_learning.target_params,
        q.function_state,
        q_learning.target_function_state,
        q.rng,
        batch,
    )
    grads, _, metrics = q_learning._grads_and_metrics_func(*arguments)
    return q_learning._td_error_func(*arguments), grads, metrics


def inputs():
    rng = np.random.default_rng(10)
    size = 5
    batch = TransitionBatch(
        S=rng.normal(size=(size, FEATURES)).astype(np.float32),
        A=rng.integers(ACTIONS, size=size),
        logP=np.log(rng.uniform(0.2, 0.9, size)).astype(np.float32),
        Rn=rng.normal(size=size).astype(np.float32),
        In=np.array([0.9, 0.0, 0.9, 0.9, 0.0], np.float32),
        S_next=rng.normal(size=(size, FEATURES)).astype(np.float32),
        A_next=rng.integers(ACTIONS, size=size),
        logP_next=np.log(rng.uniform(0.2, 0.9, size)).astype(np.float32),
        W=rng.uniform(0.5, 2.0, size).astype(np.float32),
    )
    return q.params, jax.tree_util.tree_map(jnp.asarray, batch)


if __name__ == "__main__":
    run(entry, inputs)
