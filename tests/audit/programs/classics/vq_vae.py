"""A vector-quantised autoencoder in haiku, whose codebook follows moving averages."""

from typing import NamedTuple

import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax

CODES, WIDTH, PIECES = 10, 3, 2
DECAY, COMMITMENT = 0.95, 0.25
OPTIMISER = optax.adam(3e-3)


class Quantised(NamedTuple):
    value: jax.Array
    codes: jax.Array
    commitment: jax.Array
    perplexity: jax.Array


class Quantiser(hk.Module):
    """Rounds vectors to the nearest of a table, and moves the table to where they are."""

    def __call__(self, z, train):
        codebook = hk.get_state("codebook", (CODES, WIDTH), init=random_rows)
        counts = hk.get_state("counts", (CODES,), init=jnp.ones)
        sums = hk.get_state("sums", (CODES, WIDTH), init=lambda *_: codebook)

        flat = z.reshape(-1, WIDTH)
        distances = (
            (flat**2).sum(axis=1, keepdims=True) - 2 * flat @ codebook.T + (codebook**2).sum(axis=1)
        )
        codes = distances.argmin(axis=1)
        onehot = jax.nn.one_hot(codes, CODES)
        quantised = codebook[codes].reshape(z.shape)

        if train:
            held = jax.lax.stop_gradient(flat)
            counts = DECAY * counts + (1 - DECAY) * onehot.sum(axis=0)
            sums = DECAY * sums + (1 - DECAY) * onehot.T @ held
            total = counts.sum()
            smoothed = (counts + 1e-5) / (total + CODES * 1e-5) * total
            hk.set_state("counts", counts)
            hk.set_state("sums", sums)
            hk.set_state("codebook", sums / smoothed[:, None])

        commitment = jnp.mean((z - jax.lax.stop_gradient(quantised)) ** 2)
        straight_through = z + jax.lax.stop_gradient(quantised - z)
        usage = onehot.mean(axis=0)
        perplexity = jnp.exp(-jnp.sum(usage * jnp.log(usage + 1e-10)))
        return Quantised(straight_through, codes.reshape(z.shape[:-1]), commitment, perplexity)


def random_rows(shape, dtype):
    return jax.random.normal(hk.next_rng_key(), shape, dtype)


def autoencode(x, train):
    z = hk.nets.MLP([32, PIECES * WIDTH], name="encoder")(x)
    quantised = Quantiser(name="quantiser")(z.reshape(-1, PIECES, WIDTH), train)
    decoder = hk.nets.MLP([32, x.shape[-1]], name="decoder")
    return decoder(quantised.value.reshape(len(x), PIECES * WIDTH)), quantised


MODEL = hk.transform_with_state(autoencode)


def loss_fn(params, state, x):
    (output, quantised), state = MODEL.apply(params, state, None, x, train=True)
    reconstruction = jnp.mean((output - x) ** 2)
    loss = reconstruction + COMMITMENT * quantised.commitment
    return loss, (state, {"reconstruction": reconstruction, "perplexity": quantised.perplexity})


@jax.jit
def entry(params, state, opt_state, x):
    grads, (state, metrics) = jax.grad(loss_fn, has_aux=True)(params, state, x)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, state, opt_state, metrics


def clusters(rng, count, features=8):
    """Two halves, each near one of four corners."""
    corners = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1], [-1, -1, 1, 0]], np.float32)
    halves = corners[rng.integers(0, 4, (count, 2))].reshape(count, features)
    return jnp.asarray(halves + 0.05 * rng.normal(size=halves.shape), jnp.float32)


def inputs():
    x = clusters(np.random.default_rng(0), 5)
    params, state = MODEL.init(jax.random.key(0), x, train=True)
    return params, state, OPTIMISER.init(params), x


AXES = {"x": "batch feature"}


def check():
    rng = np.random.default_rng(1)
    params, state, opt_state, x = inputs()
    before = jax.tree.map(np.asarray, state["quantiser"])
    (_, quantised), after = MODEL.apply(params, state, None, x, train=True)
    z = np.asarray(hk.transform(lambda x: hk.nets.MLP([32, 6], name="encoder")(x)).apply(
        params, None, x
    )).reshape(-1, WIDTH)  # fmt: skip
    codes = ((z[:, None] - before["codebook"]) ** 2).sum(axis=-1).argmin(axis=1)
    np.testing.assert_array_equal(np.ravel(quantised.codes), codes)
    for code in range(CODES):
        count = DECAY * before["counts"][code] + (1 - DECAY) * (codes == code).sum()
        total = DECAY * before["sums"][code] + (1 - DECAY) * z[codes == code].sum(axis=0)
        row = after["quantiser"]["codebook"][code]
        np.testing.assert_allclose(row, total / count, rtol=1e-3, atol=1e-4)

    for _ in range(1000):
        params, state, opt_state, metrics = entry(params, state, opt_state, clusters(rng, 64))
    assert metrics["reconstruction"] < 0.03, metrics
    assert metrics["perplexity"] > 3, metrics
