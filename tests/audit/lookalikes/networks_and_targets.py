"""Target networks that begin as their critics do: `init` is called again with the same key."""

import jax
import jax.numpy as jnp


class Critic:
    def __init__(self, width):
        self.width = width

    def init(self, key, obs):
        body, head = jax.random.split(key)
        return {
            "body": jax.random.normal(body, (obs.shape[-1], self.width)),
            "head": jax.random.normal(head, (self.width,)),
        }

    def apply(self, params, obs):
        return jnp.tanh(obs @ params["body"]) @ params["head"]


def create(module, key, obs):
    return module.init(key, obs)


def states(key, obs):
    one, two = jax.random.split(key)
    wide, narrow = Critic(8), Critic(4)
    params = wide.init(one, obs)
    other_params = create(narrow, two, obs)
    target = wide.init(one, obs)
    other_target = create(narrow, two, obs)
    return (params, other_params), (target, other_target)


def loss_fn(params, target, obs, reward, next_obs, gamma=0.9):
    wide, narrow = Critic(8), Critic(4)
    ahead = jnp.minimum(wide.apply(target[0], next_obs), narrow.apply(target[1], next_obs))
    wanted = jax.lax.stop_gradient(reward + gamma * ahead)
    errors = [wide.apply(params[0], obs) - wanted, narrow.apply(params[1], obs) - wanted]
    return jnp.mean(jnp.square(errors[0])) + jnp.mean(jnp.square(errors[1]))


def entry(key, obs, reward, next_obs):
    params, target = states(key, obs)

    def step(carry, _):
        params, target = carry
        loss, grads = jax.value_and_grad(loss_fn)(params, target, obs, reward, next_obs)
        params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
        target = jax.tree.map(lambda t, p: 0.9 * t + 0.1 * p, target, params)
        return (params, target), loss

    return jax.lax.scan(step, (params, target), length=10)


def inputs():
    keys = jax.random.split(jax.random.key(0), 4)
    obs, next_obs = (jax.random.normal(it, (6, 3)) for it in keys[:2])
    return keys[2], obs, jax.random.normal(keys[3], (6,)), next_obs
