"""An environment that resets inside of its step, a rollout over it, and advantages."""

from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    position: jax.Array
    velocity: jax.Array
    time: jax.Array


class Timestep(NamedTuple):
    obs: jax.Array
    reward: jax.Array
    done: jax.Array


def reset(key):
    position = jax.random.uniform(key, (2,), minval=-0.05, maxval=0.05)
    state = State(position, jnp.zeros(2), jnp.zeros((), jnp.int32))
    return observe(state), state


def observe(state):
    return jnp.concatenate([state.position, state.velocity])


def step(key, state, action):
    velocity = 0.9 * state.velocity + 0.1 * action
    position = state.position + velocity
    stepped = State(position, velocity, state.time + 1)
    reward = -jnp.sum(position**2)
    done = (jnp.abs(position).max() > 1.0) | (stepped.time >= 20)
    _, fresh = reset(key)
    state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, stepped)
    return observe(state), state, reward, done


def policy(params, obs):
    return jnp.tanh(obs @ params["w"] + params["b"])


def rollout(params, key, num_envs=4, length=30):
    key, sub = jax.random.split(key)
    obs, state = jax.vmap(reset)(jax.random.split(sub, num_envs))

    def one(carry, key):
        obs, state, total = carry
        action = policy(params, obs)
        keys = jax.random.split(key, num_envs)
        next_obs, state, reward, done = jax.vmap(step)(keys, state, action)
        return (next_obs, state, total + reward), (obs, action, reward, done)

    (_, _, total), traj = jax.lax.scan(
        one, (obs, state, jnp.zeros(num_envs)), jax.random.split(key, length)
    )
    return total, traj


def gae(rewards, dones, values, last_value, gamma=0.99, lam=0.95):
    def back(carry, x):
        gae, next_value = carry
        reward, done, value = x
        delta = reward + gamma * next_value * (1.0 - done) - value
        gae = delta + gamma * lam * (1.0 - done) * gae
        return (gae, value), gae

    init = (jnp.zeros_like(last_value), last_value)
    return jax.lax.scan(back, init, (rewards, dones, values), reverse=True)[1]


def entry(params, key):
    total, (obs, _, reward, done) = rollout(params, key)
    values = obs @ params["v"]
    advantages = gae(reward, done.astype(jnp.float32), values, jnp.zeros(4))
    return total.mean(), advantages


def inputs():
    params = {"w": jnp.full((4, 2), 0.1), "b": jnp.zeros(2), "v": jnp.full(4, 0.2)}
    return params, jax.random.key(0)
