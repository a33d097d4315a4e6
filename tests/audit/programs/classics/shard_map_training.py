"""Data-parallel regression with `shard_map`: sums over shards, some of whose rows are padding."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

FEATURES, HIDDEN = 3, 16
OPTIMISER = optax.adam(1e-2)


class Params(NamedTuple):
    w1: jax.Array
    b1: jax.Array
    w2: jax.Array
    b2: jax.Array


def mesh():
    return jax.make_mesh((jax.device_count(),), ("data",), (jax.sharding.AxisType.Auto,))


def init_params(key):
    first, second = jax.random.split(key)
    return Params(
        jax.random.normal(first, (FEATURES, HIDDEN)) / np.sqrt(FEATURES),
        jnp.zeros(HIDDEN),
        jax.random.normal(second, (HIDDEN,)) / np.sqrt(HIDDEN),
        jnp.zeros(()),
    )


def predict(params, x):
    return jnp.tanh(x @ params.w1 + params.b1) @ params.w2 + params.b2


def standardise(x, mask):
    """With mean and deviation over the rows of all shards that are no padding."""
    count = jax.lax.psum(mask.sum(), "data")
    mean = jax.lax.psum(mask @ x, "data") / count
    var = jax.lax.psum(mask @ (x - mean) ** 2, "data") / count
    return (x - mean) * jax.lax.rsqrt(var + 1e-6)


def loss_fn(params, x, y, mask):
    @partial(
        jax.shard_map,
        mesh=mesh(),
        in_specs=(P(), P("data"), P("data"), P("data")),
        out_specs=P(),
    )
    def sharded(params, x, y, mask):
        errors = (predict(params, standardise(x, mask)) - y) ** 2
        total = jax.lax.psum(jnp.sum(errors * mask), "data")
        count = jax.lax.psum(jnp.sum(mask), "data")
        return total / count

    return sharded(params, x, y, mask)


@partial(jax.jit, donate_argnames=("params", "opt_state"))
def entry(params, opt_state, x, y, mask):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y, mask)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss


def surface(rng, rows, padding):
    x = 3 + 2 * rng.normal(size=(rows, FEATURES))
    y = np.sin(x[:, 0]) + 0.2 * x[:, 1]
    mask = np.arange(rows) < rows - padding
    y[~mask] = 100.0
    return tuple(np.asarray(it, np.float32) for it in (x, y, mask))


def place(arrays):
    return jax.device_put(arrays, NamedSharding(mesh(), P("data")))


def inputs():
    params = init_params(jax.random.key(0))
    rows = 10 * jax.device_count()
    return params, OPTIMISER.init(params), *place(surface(np.random.default_rng(0), rows, 4))


AXES = {"x": "batch feature", "y": "batch", "mask": "batch"}


def check():
    assert jax.device_count() > 1, "one device shares its work with nobody"
    rng = np.random.default_rng(1)
    params, opt_state, *_ = inputs()
    rows = 16 * jax.device_count()
    x, y, mask = surface(rng, rows, 5)

    def on_one_device(params):
        real = x[:-5]
        standard = (real - real.mean(axis=0)) / np.sqrt(real.var(axis=0) + 1e-6)
        return jnp.mean((predict(params, standard) - y[:-5]) ** 2)

    expected, expected_grads = jax.value_and_grad(on_one_device)(params)
    loss, grads = jax.jit(jax.value_and_grad(loss_fn))(params, *place((x, y, mask)))
    np.testing.assert_allclose(loss, expected, rtol=1e-4)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5), grads, expected_grads
    )

    for _ in range(500):
        batch = place(surface(rng, 64 * jax.device_count(), 9))
        params, opt_state, loss = entry(params, opt_state, *batch)
    assert loss < 0.15, loss
