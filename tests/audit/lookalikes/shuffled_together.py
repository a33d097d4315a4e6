"""One key that permutes every leaf of a batch, and one that resamples two arrays alike."""

import jax
import jax.numpy as jnp
import optax


def shuffled(key, batch):
    return jax.tree.map(lambda leaf: jax.random.permutation(key, leaf), batch)


def minibatches(key, batch, count):
    mixed = shuffled(key, batch)
    return jax.tree.map(lambda leaf: leaf.reshape((count, -1, *leaf.shape[1:])), mixed)


def bootstrap(key, xs, ys):
    rows = jax.random.choice(key, xs, (xs.shape[0],))
    return rows, jax.random.choice(key, ys, (ys.shape[0],))


def mix(key, images, labels):
    images = jax.random.permutation(key, images, axis=0)
    labels = jax.random.permutation(key, labels, axis=0)
    return images, labels


def loss_fn(params, batch):
    predicted = batch["x"] @ params["w"] + params["b"]
    return jnp.mean((predicted - batch["y"]) ** 2)


OPTIMISER = optax.sgd(0.1)


@jax.jit
def epoch(params, state, key, data):
    def step(carry, batch):
        params, state = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, batch)
        updates, state = OPTIMISER.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), loss

    (params, state), losses = jax.lax.scan(step, (params, state), minibatches(key, data, 4))
    return params, state, losses.mean()


def entry(params, state, key, data):
    keys = jax.random.split(key, 3)
    xs, ys = mix(keys[0], data["x"], data["y"])
    xs, ys = bootstrap(keys[1], xs, ys)
    return epoch(params, state, keys[2], {"x": xs, "y": ys})


def inputs():
    params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    xs = jax.random.normal(jax.random.key(1), (16, 3))
    return params, OPTIMISER.init(params), jax.random.key(0), {"x": xs, "y": xs.sum(1)}
