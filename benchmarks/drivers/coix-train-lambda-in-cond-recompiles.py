"""A few steps of training with the library's own step, not compiled one by one."""

import jax
import jax.numpy as jnp
import optax
from stand_ins import on_path, package, run

on_path()
# The package's own `__init__` imports the backends of its programs.
package("coix", "coix")

from coix import util  # noqa: E402

STEPS, BATCH, FEATURES = 3, 5, 4
AXES = {"batches": ("time", "batch", "feature")}


def loss_fn(params, key, batch):
    noise = 0.1 * jax.random.normal(key, batch.shape)
    loss = jnp.mean((jnp.tanh(batch @ params["w"] + params["b"]) - batch - noise) ** 2)
    return loss, {"loss": loss}


optimizer = optax.adam(1e-2)


def training_step():
    """The library's step, which it hands to a function that may compile it."""
    steps = []
    params, _ = inputs()
    util.train(loss_fn, params, optimizer, 0, jit_compile=steps.append)
    return steps[0]


def entry(params, batches):
    step = training_step()
    opt_state = optimizer.init(params)
    for index, batch in enumerate(batches):
        key = jax.random.fold_in(jax.random.key(1), index)
        params, opt_state, metrics = step(params, opt_state, key, batch)
    return params, metrics


def inputs():
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "w": jax.random.normal(keys[0], (FEATURES, FEATURES)),
        "b": jax.random.normal(keys[1], (FEATURES,)),
    }
    return params, jax.random.normal(keys[2], (STEPS, BATCH, FEATURES))


if __name__ == "__main__":
    run(entry, inputs)
