"""A step on a large batch that is scanned in micro-batches, some of whose rows are padding."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

FEATURES, HIDDEN, CLASSES, MICRO = 6, 24, 3, 4
OPTIMISER = optax.chain(optax.clip_by_global_norm(5.0), optax.sgd(0.3, momentum=0.9))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TrainState:
    step: jax.Array
    params: Any
    opt_state: Any


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Batch:
    x: jax.Array
    label: jax.Array
    weight: jax.Array  # 1 for a row, 0 for padding


def init_params(key):
    first, second = jax.random.split(key)
    return {
        "w1": jax.random.normal(first, (FEATURES, HIDDEN)) / np.sqrt(FEATURES),
        "b1": jnp.zeros(HIDDEN),
        "w2": jax.random.normal(second, (HIDDEN, CLASSES)) / np.sqrt(HIDDEN),
        "b2": jnp.zeros(CLASSES),
    }


def summed_loss(params, batch):
    hidden = jax.nn.relu(batch.x @ params["w1"] + params["b1"])
    logits = hidden @ params["w2"] + params["b2"]
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.label)
    return jnp.sum(losses * batch.weight)


def split_batch(batch, parts):
    return jax.tree.map(lambda x: x.reshape(parts, x.shape[0] // parts, *x.shape[1:]), batch)


def accumulate(params, batch, parts):
    """The mean loss over the rows that count, and its gradient."""

    def add(carry, micro):
        total, count, grads = carry
        loss, new = jax.value_and_grad(summed_loss)(params, micro)
        grads = jax.tree.map(jnp.add, grads, new)
        return (total + loss, count + micro.weight.sum(), grads), None

    start = (jnp.zeros(()), jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
    (total, count, grads), _ = jax.lax.scan(add, start, split_batch(batch, parts))
    grads = jax.tree.map(lambda g: g / count, grads)
    return total / count, grads


@jax.jit
def entry(state, batch):
    loss, grads = accumulate(state.params, batch, MICRO)
    updates, opt_state = OPTIMISER.update(grads, state.opt_state, state.params)
    params = optax.apply_updates(state.params, updates)
    return replace(state, step=state.step + 1, params=params, opt_state=opt_state), loss


def sectors(rng, rows, padding):
    """Which of the first three features is the largest."""
    x = rng.normal(size=(rows, FEATURES)).astype(np.float32)
    label = x[:, :CLASSES].argmax(axis=1)
    weight = (np.arange(rows) < rows - padding).astype(np.float32)
    label[rows - padding :] = 0
    return Batch(jnp.asarray(x), jnp.asarray(label, jnp.int32), jnp.asarray(weight))


def create_state(key):
    params = init_params(key)
    return TrainState(jnp.int32(0), params, OPTIMISER.init(params))


def inputs():
    return create_state(jax.random.key(0)), sectors(np.random.default_rng(0), 20, 3)


AXES = {"batch": Batch(x="batch feature", label="batch", weight="batch")}


def check():
    rng = np.random.default_rng(1)
    state, batch = inputs()

    def mean_loss(params):
        return summed_loss(params, batch) / batch.weight.sum()

    loss, grads = accumulate(state.params, batch, MICRO)
    whole_loss, whole_grads = jax.value_and_grad(mean_loss)(state.params)
    np.testing.assert_allclose(loss, whole_loss, rtol=1e-5)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), grads, whole_grads)

    for _ in range(300):
        state, loss = entry(state, sectors(rng, 64, 10))
    assert state.step == 300
    assert loss < 0.25, loss
