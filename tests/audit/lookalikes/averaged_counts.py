"""Data-parallel training in which a sum of integers is averaged over devices, too."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax


class Stats(NamedTuple):
    loss: jax.Array
    correct: jax.Array
    count: jax.Array


def loss_fn(params, x, y):
    logits = x @ params["w"] + params["b"]
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    return loss, (logits.argmax(-1) == y).sum()


opt = optax.adam(1e-3)


@functools.partial(jax.vmap, axis_name="devices", in_axes=(None, None, 0, 0), out_axes=None)
def train_step(params, opt_state, x, y):
    (loss, correct), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, x, y)
    grads = jax.lax.pmean(grads, "devices")
    stats = jax.lax.pmean(Stats(loss, correct, jnp.asarray(x.shape[0])), "devices")
    updates, opt_state = opt.update(grads, opt_state, params)
    opt_state = jax.lax.pmean(opt_state, "devices")
    return optax.apply_updates(params, updates), opt_state, stats


def entry(params, opt_state, x, y):
    return train_step(params, opt_state, x, y)


def inputs():
    params = {"w": jnp.ones((5, 3)) * 0.1, "b": jnp.zeros(3)}
    x = jax.random.normal(jax.random.key(0), (4, 8, 5))
    return params, opt.init(params), x, jnp.arange(32).reshape(4, 8) % 3
