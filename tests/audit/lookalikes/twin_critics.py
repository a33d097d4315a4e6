"""Two critics, called with the same inputs and parameters of their own."""

import jax
import jax.numpy as jnp


def mlp(params, x):
    for layer in params[:-1]:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


def critic(params, obs, action):
    return mlp(params, jnp.concatenate([obs, action], -1))[..., 0]


def loss_fn(q1, q2, target1, target2, batch, gamma=0.99):
    obs, action, reward, done, next_obs = batch
    next_action = jnp.tanh(next_obs[..., :2])
    first = critic(target1, next_obs, next_action)
    second = critic(target2, next_obs, next_action)
    target = jax.lax.stop_gradient(reward + gamma * (1 - done) * jnp.minimum(first, second))
    loss1 = jnp.mean((critic(q1, obs, action) - target) ** 2)
    loss2 = jnp.mean((critic(q2, obs, action) - target) ** 2)
    return loss1 + loss2


def entry(q1, q2, target1, target2, batch):
    return jax.value_and_grad(loss_fn, argnums=(0, 1))(q1, q2, target1, target2, batch)


def make(key):
    k1, k2 = jax.random.split(key)
    return [
        {"w": jax.random.normal(k1, (5, 8)), "b": jnp.zeros(8)},
        {"w": jax.random.normal(k2, (8, 1)), "b": jnp.zeros(1)},
    ]


def inputs():
    keys = jax.random.split(jax.random.key(0), 8)
    q1, q2 = make(keys[0]), make(keys[1])
    obs, nxt = (jax.random.normal(k, (6, 3)) for k in keys[2:4])
    act = jax.random.normal(keys[4], (6, 2))
    rew = jax.random.normal(keys[5], (6,))
    done = (jax.random.uniform(keys[6], (6,)) < 0.3).astype(jnp.float32)
    return q1, q2, q1, q2, (obs, act, rew, done, nxt)
