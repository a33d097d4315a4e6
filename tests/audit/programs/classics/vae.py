"""A variational autoencoder of binary pictures in flax; the whole training is one function."""

from functools import partial

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

LATENT, HIDDEN, BATCH = 3, 48, 32
OPTIMISER = optax.adam(3e-3)


class Encoder(nn.Module):
    latent: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(HIDDEN)(x))
        return nn.Dense(self.latent, name="mean")(x), nn.Dense(self.latent, name="logvar")(x)


class Decoder(nn.Module):
    pixels: int

    @nn.compact
    def __call__(self, z):
        return nn.Dense(self.pixels)(nn.relu(nn.Dense(HIDDEN)(z)))


class VAE(nn.Module):
    pixels: int
    latent: int = LATENT

    def setup(self):
        self.encoder = Encoder(self.latent)
        self.decoder = Decoder(self.pixels)

    def __call__(self, x, key):
        mean, logvar = self.encoder(x)
        z = mean + jnp.exp(0.5 * logvar) * jax.random.normal(key, mean.shape)
        return self.decoder(z), mean, logvar

    def generate(self, z):
        return nn.sigmoid(self.decoder(z))


def kl_divergence(mean, logvar):
    return -0.5 * jnp.sum(1 + logvar - mean**2 - jnp.exp(logvar), axis=-1)


def negative_elbo(params, x, key):
    logits, mean, logvar = VAE(x.shape[-1]).apply({"params": params}, x, key)
    reconstruction = optax.sigmoid_binary_cross_entropy(logits, x).sum(axis=-1)
    return (reconstruction + kl_divergence(mean, logvar)).mean()


@partial(jax.jit, static_argnames="epochs")
def entry(params, data, key, epochs=2):
    batches = len(data) // BATCH

    def step(carry, scanned):
        params, opt_state = carry
        rows, key = scanned
        loss, grads = jax.value_and_grad(negative_elbo)(params, data[rows], key)
        updates, opt_state = OPTIMISER.update(grads, opt_state)
        return (optax.apply_updates(params, updates), opt_state), loss

    def epoch(carry, key):
        order_key, noise_key = jax.random.split(key)
        order = jax.random.permutation(order_key, len(data))[: batches * BATCH]
        keys = jax.random.split(noise_key, batches)
        carry, losses = jax.lax.scan(step, carry, (order.reshape(batches, BATCH), keys))
        return carry, losses.mean()

    carry = (params, OPTIMISER.init(params))
    (params, _), losses = jax.lax.scan(epoch, carry, jax.random.split(key, epochs))
    return params, losses


def bars(rng, count, height=5, width=4):
    """One row and one column of each picture are lit."""
    images = np.zeros((count, height, width), np.float32)
    images[np.arange(count), rng.integers(0, height, count)] = 1
    images[np.arange(count), :, rng.integers(0, width, count)] = 1
    return jnp.asarray(images.reshape(count, height * width))


def inputs():
    data = bars(np.random.default_rng(0), 100)
    params = VAE(data.shape[-1]).init(jax.random.key(0), data[:1], jax.random.key(1))["params"]
    return params, data, jax.random.key(2)


AXES = {"data": "example pixel"}


def check():
    rng = np.random.default_rng(1)
    mean, logvar = rng.normal(size=(2, 5, LATENT))
    z = mean + np.exp(0.5 * logvar) * rng.normal(size=(100_000, 5, LATENT))
    log_ratio = 0.5 * (z**2 - (z - mean) ** 2 / np.exp(logvar) - logvar)
    estimate = log_ratio.sum(axis=-1).mean(axis=0)
    np.testing.assert_allclose(kl_divergence(mean, logvar), estimate, rtol=0.03, atol=0.03)

    params, _, key = inputs()
    data = bars(rng, 1024)
    params, losses = entry(params, data, key, epochs=120)
    # 20 pictures that are equally likely: no model is below log(20), about 3.
    assert 2.9 < losses[-1] < 5.5, losses[-1]
    assert losses[0] > 10

    model = VAE(data.shape[-1])
    z = jax.random.normal(jax.random.key(3), (400, LATENT))
    drawn = model.apply({"params": params}, z, method="generate") > 0.5
    known = {tuple(it) for it in np.asarray(data, bool).tolist()}
    assert np.mean([tuple(it) in known for it in drawn.tolist()]) > 0.25
