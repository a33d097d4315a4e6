"""Recurrent PPO: the flag that is stored belongs to the observation beside it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax

ENVS, STEPS, HIDDEN = 4, 8, 6


class Transition(NamedTuple):
    done: jax.Array
    action: jax.Array
    value: jax.Array
    reward: jax.Array
    log_prob: jax.Array
    obs: jax.Array


def env_reset(key):
    position = jax.random.uniform(key, (2,), minval=-0.1, maxval=0.1)
    return position, position


def env_step(key, position, action):
    position = position + 0.1 * (2.0 * action - 1.0)
    reward, done = -jnp.abs(position).sum(), jnp.abs(position).max() > 0.4
    _, fresh = env_reset(key)
    position = jnp.where(done, fresh, position)
    return position, position, reward, done


def cell(params, hidden, inputs):
    obs, reset = inputs
    hidden = jnp.where(reset[:, None], jnp.zeros_like(hidden), hidden)
    hidden = jnp.tanh(obs @ params["in"] + hidden @ params["rec"])
    return hidden, (hidden @ params["actor"], (hidden @ params["critic"])[:, 0])


def network(params, hidden, inputs):
    return jax.lax.scan(lambda h, x: cell(params, h, x), hidden, inputs)


def env_one(params, runner, _):
    states, obs, last_done, hidden, key = runner
    key, act_key, step_key = jax.random.split(key, 3)
    hidden, (logits, value) = network(params, hidden, (obs[None], last_done[None]))
    logits, value = logits[0], value[0]
    action = jax.random.categorical(act_key, logits)
    log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=1)[:, 0]
    keys = jax.random.split(step_key, ENVS)
    next_obs, states, reward, done = jax.vmap(env_step)(keys, states, action)
    kept = Transition(last_done, action, value, reward, log_prob, obs)
    return (states, next_obs, done, hidden, key), kept


def advantages(traj, last_value, last_done):
    def back(carry, transition):
        gae, next_value, next_done = carry
        alive = 1.0 - next_done
        delta = transition.reward + 0.99 * next_value * alive - transition.value
        gae = delta + 0.99 * 0.95 * alive * gae
        return (gae, transition.value, transition.done.astype(jnp.float32)), gae

    start = (jnp.zeros_like(last_value), last_value, last_done.astype(jnp.float32))
    gae = jax.lax.scan(back, start, traj, reverse=True)[1]
    return gae, gae + traj.value


def loss_fn(params, hidden, traj, gae, targets):
    _, (logits, value) = network(params, hidden, (traj.obs, traj.done))
    log_probs = jax.nn.log_softmax(logits)
    log_prob = jnp.take_along_axis(log_probs, traj.action[..., None], axis=-1)[..., 0]
    ratio = jnp.exp(log_prob - traj.log_prob)
    gae = (gae - gae.mean()) / (gae.std() + 1e-8)
    clipped = jnp.clip(ratio, 0.8, 1.2) * gae
    entropy = -jnp.sum(jnp.exp(log_probs) * log_probs, axis=-1).mean()
    actor = -jnp.minimum(ratio * gae, clipped).mean()
    return actor + 0.5 * jnp.mean((value - targets) ** 2) - 0.01 * entropy


OPTIMISER = optax.adam(1e-3)


@jax.jit
def update(params, opt_state, runner):
    initial = runner[3]
    runner, traj = jax.lax.scan(lambda r, x: env_one(params, r, x), runner, None, length=STEPS)
    _, obs, last_done, hidden, _ = runner
    _, (_, last_value) = network(params, hidden, (obs[None], last_done[None]))
    gae, targets = advantages(traj, last_value[0], last_done)
    loss, grads = jax.value_and_grad(loss_fn)(params, initial, traj, gae, targets)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, runner, loss


def entry(params, opt_state, key):
    key, reset_key = jax.random.split(key)
    obs, states = jax.vmap(env_reset)(jax.random.split(reset_key, ENVS))
    runner = (states, obs, jnp.zeros(ENVS, bool), jnp.zeros((ENVS, HIDDEN)), key)
    losses = []
    for _ in range(2):
        params, opt_state, runner, loss = update(params, opt_state, runner)
        losses.append(loss)
    return params, jnp.stack(losses)


def inputs():
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = {
        "in": (2, HIDDEN),
        "rec": (HIDDEN, HIDDEN),
        "actor": (HIDDEN, 2),
        "critic": (HIDDEN, 1),
    }
    params = {
        n: 0.3 * jax.random.normal(k, s) for k, (n, s) in zip(keys, shapes.items(), strict=True)
    }
    return params, OPTIMISER.init(params), jax.random.key(1)
