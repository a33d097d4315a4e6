"""A cart that balances a pole: pure functions of one environment's state."""

import jax
import jax.numpy as jnp
from jax import Array

FORCE, GRAVITY, SECONDS = 10.0, 9.8, 0.02
TRACK, TILT = 2.4, 0.21  # metres and radians, beyond which an episode ends
SCALE = jnp.array([1000.0, 1000.0, 5.0, 50.0])


def reset(key: Array) -> Array:
    """Position and angle, with their velocities, close to upright and at rest."""
    return jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05)


def observe(state: Array) -> Array:
    """What the sensors report: millimetres and degrees."""
    return state * jnp.array([1000.0, 1000.0, 180 / jnp.pi, 180 / jnp.pi])


def normalise(observation: Array) -> Array:
    return observation / SCALE


def move(state: Array, action: Array) -> Array:
    """The laws of motion, for a cart of 1 kg and a pole of 0.1 kg and 1 m."""
    _, speed, angle, turning = state
    sine, cosine = jnp.sin(angle), jnp.cos(angle)
    push = (FORCE * (2 * action - 1) + 0.05 * turning**2 * sine) / 1.1
    falling = (GRAVITY * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
    sliding = push - 0.05 * falling * cosine / 1.1
    change = jnp.stack([speed, sliding, turning, falling])
    return state + SECONDS * change


def step(key: Array, state: Array, action: Array) -> tuple[Array, Array]:
    """The next state, a new episode's first one where this episode ends, and whether it does."""
    moved = move(state, action)
    done = (jnp.abs(moved[0]) > TRACK) | (jnp.abs(moved[2]) > TILT)
    return jnp.where(done, reset(key), moved), done.astype(jnp.float32)
