"""Diagonal state space layers (S4D): one kernel, run as a recurrence or as a long convolution."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

BATCH, LENGTH, CHANNELS, STATE, INPUTS = 3, 20, 6, 4, 2
OPTIMISER = optax.adamw(3e-3)


class DiagonalSSM(eqx.Module):
    """One system with a diagonal complex state for each channel."""

    log_decay: jax.Array  # (channel, state)
    frequency: jax.Array  # (channel, state)
    output: jax.Array  # (channel, state, 2): real and imaginary part
    skip: jax.Array  # (channel,)
    log_step: jax.Array  # (channel,)

    def __init__(self, channels, state, *, key):
        output_key, skip_key, step_key = jax.random.split(key, 3)
        self.log_decay = jnp.log(0.5 * jnp.ones((channels, state)))
        self.frequency = jnp.pi * jnp.tile(jnp.arange(state, dtype=jnp.float32), (channels, 1))
        self.output = jax.random.normal(output_key, (channels, state, 2)) * math.sqrt(0.5)
        self.skip = jax.random.normal(skip_key, (channels,))
        low, high = math.log(1e-2), math.log(1e-1)
        self.log_step = jax.random.uniform(step_key, (channels,), minval=low, maxval=high)

    def discretised(self):
        """Zero-order hold: x' = A x + u becomes x_k = a x_{k-1} + b u_k, y_k = Re(c x_k)."""
        rates = -jnp.exp(self.log_decay) + 1j * self.frequency
        a = jnp.exp(rates * jnp.exp(self.log_step)[:, None])
        b = (a - 1) / rates
        c = self.output[..., 0] + 1j * self.output[..., 1]
        return a, b, c

    def kernel(self, length):
        a, b, c = self.discretised()
        powers = a[..., None] ** jnp.arange(length)
        return 2 * jnp.einsum("cs,csl->cl", b * c, powers).real

    def __call__(self, u):
        """(length, channel) to (length, channel), as a convolution by FFT."""
        length = u.shape[0]
        kernel = self.kernel(length)
        spectrum = jnp.fft.rfft(u.T, n=2 * length) * jnp.fft.rfft(kernel, n=2 * length)
        y = jnp.fft.irfft(spectrum, n=2 * length)[:, :length]
        return y.T + self.skip * u

    def step(self, x, u):
        """One step of the recurrence, for generation."""
        a, b, c = self.discretised()
        x = a * x + b * u[:, None]
        return x, 2 * jnp.sum(c * x, axis=-1).real + self.skip * u


class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    ssm: DiagonalSSM
    mix: eqx.nn.Linear

    def __init__(self, channels, state, *, key):
        ssm_key, mix_key = jax.random.split(key)
        self.norm = eqx.nn.LayerNorm(channels)
        self.ssm = DiagonalSSM(channels, state, key=ssm_key)
        self.mix = eqx.nn.Linear(channels, 2 * channels, key=mix_key)

    def __call__(self, x):
        y = jax.nn.gelu(self.ssm(jax.vmap(self.norm)(x)))
        return x + jax.nn.glu(jax.vmap(self.mix)(y), axis=-1)


class Model(eqx.Module):
    encoder: eqx.nn.Linear
    blocks: list[Block]
    decoder: eqx.nn.Linear

    def __init__(self, *, key):
        keys = jax.random.split(key, 4)
        self.encoder = eqx.nn.Linear(INPUTS, CHANNELS, key=keys[0])
        self.blocks = [Block(CHANNELS, STATE, key=k) for k in keys[1:3]]
        self.decoder = eqx.nn.Linear(CHANNELS, INPUTS, key=keys[3])

    def __call__(self, xs):
        hidden = jax.vmap(self.encoder)(xs)
        for block in self.blocks:
            hidden = block(hidden)
        return jax.vmap(self.decoder)(hidden)


def loss_fn(model, xs):
    """Squared error of the next value."""
    predictions = jax.vmap(model)(xs[:, :-1])
    return jnp.mean((predictions - xs[:, 1:]) ** 2)


@eqx.filter_jit
def entry(model, opt_state, xs):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, xs)
    updates, opt_state = OPTIMISER.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state, loss


def inputs():
    model = Model(key=jax.random.key(0))
    time = np.arange(LENGTH)[:, None] * np.array([0.3, 0.5])
    phases = np.random.default_rng(0).uniform(0, 2 * np.pi, size=(BATCH, 1, 1))
    xs = jnp.asarray(np.sin(time + phases), jnp.float32)
    return model, OPTIMISER.init(eqx.filter(model, eqx.is_array)), xs


AXES = {"xs": "batch time feature"}


def check():
    model, opt_state, xs = inputs()
    ssm = model.blocks[0].ssm
    u = jax.random.normal(jax.random.key(1), (LENGTH, CHANNELS))
    convolved = ssm(u)
    start = jnp.zeros((CHANNELS, STATE), jnp.complex64)
    _, recurrent = jax.lax.scan(lambda x, u: ssm.step(x, u), start, u)
    np.testing.assert_allclose(convolved, recurrent, atol=1e-4)

    # The zero-order hold is exact: an input held constant, against the matrix exponential.
    a, b, _ = (np.asarray(part, np.complex128) for part in ssm.discretised())
    rates = -np.exp(np.asarray(ssm.log_decay)) + 1j * np.asarray(ssm.frequency)
    step = np.exp(np.asarray(ssm.log_step))[:, None]
    fine = np.linspace(0, 1, 2001)[:, None, None] * step
    held = np.trapezoid(np.exp(rates * fine), dx=1 / 2000, axis=0) * step
    np.testing.assert_allclose(a, np.exp(rates * step), atol=1e-5)
    np.testing.assert_allclose(b, held, atol=1e-5)

    # What comes later does not matter.
    later = model(xs[0].at[12:].set(7.0))
    np.testing.assert_allclose(later[:12], model(xs[0])[:12], atol=1e-4)

    losses = []
    for _ in range(150):
        model, opt_state, loss = entry(model, opt_state, xs)
        losses.append(float(loss))
    assert losses[-1] < 0.1 * losses[0], losses[::50]
