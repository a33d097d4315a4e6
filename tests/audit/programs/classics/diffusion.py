"""Denoising diffusion of points on a circle, in equinox: training, moving average, sampling."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

STEPS = 50
BETAS = np.linspace(1e-3, 0.2, STEPS, dtype=np.float32)
ALPHAS = 1 - BETAS
ALPHA_BARS = np.cumprod(ALPHAS)
DECAY = 0.98
OPTIMISER = optax.adam(3e-3)


class Denoiser(eqx.Module):
    """Predicts the noise in one point, given how many steps of noise it has seen."""

    first: eqx.nn.Linear
    layers: list[eqx.nn.Linear]
    last: eqx.nn.Linear
    frequencies: int = eqx.field(static=True)

    def __init__(self, key, dim=2, width=64, depth=2, frequencies=4):
        first, last, *keys = jax.random.split(key, depth + 2)
        self.frequencies = frequencies
        self.first = eqx.nn.Linear(dim + 2 * frequencies, width, key=first)
        self.layers = [eqx.nn.Linear(width, width, key=key) for key in keys]
        self.last = eqx.nn.Linear(width, dim, key=last)

    def __call__(self, x, t):
        angles = t / STEPS * jnp.pi * 2.0 ** jnp.arange(self.frequencies)
        x = self.first(jnp.concatenate([x, jnp.sin(angles), jnp.cos(angles)]))
        for layer in self.layers:
            x = x + layer(jax.nn.silu(x))
        return self.last(jax.nn.silu(x))


def add_noise(data, noise, t):
    """What `data` is after `t + 1` steps, for a step a row."""
    kept = jnp.asarray(ALPHA_BARS)[t][:, None]
    return jnp.sqrt(kept) * data + jnp.sqrt(1 - kept) * noise


def loss_fn(model, data, key):
    time_key, noise_key = jax.random.split(key)
    t = jax.random.randint(time_key, data.shape[:1], 0, STEPS)
    noise = jax.random.normal(noise_key, data.shape)
    predicted = jax.vmap(model)(add_noise(data, noise, t), t)
    return jnp.mean((predicted - noise) ** 2)


def moving_average(average, model):
    return jax.tree.map(lambda a, m: DECAY * a + (1 - DECAY) * m, average, model)


@eqx.filter_jit
def entry(model, average, opt_state, data, key):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, data, key)
    updates, opt_state = OPTIMISER.update(grads, opt_state, model)
    model = eqx.apply_updates(model, updates)
    average = moving_average(average, model)
    return model, average, opt_state, loss


@eqx.filter_jit
def sample(model, key, count):
    start_key, key = jax.random.split(key)

    def step(x, scanned):
        t, key = scanned
        alpha, alpha_bar, beta = (jnp.asarray(it)[t] for it in (ALPHAS, ALPHA_BARS, BETAS))
        noise = jax.vmap(model, in_axes=(0, None))(x, t)
        mean = (x - beta / jnp.sqrt(1 - alpha_bar) * noise) / jnp.sqrt(alpha)
        fresh = jnp.where(t > 0, jnp.sqrt(beta), 0.0) * jax.random.normal(key, x.shape)
        return mean + fresh, None

    x = jax.random.normal(start_key, (count, 2))
    times = jnp.arange(STEPS - 1, -1, -1)
    x, _ = jax.lax.scan(step, x, (times, jax.random.split(key, STEPS)))
    return x


def circle(rng, count):
    angle = rng.uniform(0, 2 * np.pi, count)
    return jnp.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1), jnp.float32)


def inputs():
    model = Denoiser(jax.random.key(0))
    opt_state = OPTIMISER.init(eqx.filter(model, eqx.is_inexact_array))
    return model, model, opt_state, circle(np.random.default_rng(0), 7), jax.random.key(1)


AXES = {"data": "batch dim"}


def check():
    rng = np.random.default_rng(1)
    data = circle(rng, 2000)
    t = jnp.full(2000, 30)
    x = np.asarray(data)
    for beta in BETAS[:31]:
        x = np.sqrt(1 - beta) * x + np.sqrt(beta) * rng.normal(size=x.shape)
    y = np.asarray(add_noise(data, jnp.asarray(rng.normal(size=x.shape), jnp.float32), t))
    slopes = [(it * data).sum() / (data * data).sum() for it in (x, y)]
    np.testing.assert_allclose(slopes[0], slopes[1], atol=0.05)
    np.testing.assert_allclose(x.std(axis=0), y.std(axis=0), rtol=0.06)

    model, average, opt_state, _, key = inputs()
    losses = []
    for _ in range(1000):
        key, step_key = jax.random.split(key)
        batch = circle(rng, 128)
        model, average, opt_state, loss = entry(model, average, opt_state, batch, step_key)
        losses.append(float(loss))
    assert np.mean(losses[-100:]) < 0.5, np.mean(losses[-100:])

    points = np.asarray(sample(average, jax.random.key(2), 500))
    radius = np.linalg.norm(points, axis=1)
    assert abs(radius.mean() - 1) < 0.08, radius.mean()
    assert radius.std() < 0.25, radius.std()
    assert np.abs(points.mean(axis=0)).max() < 0.2
