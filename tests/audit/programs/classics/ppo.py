"""Rollout and update of proximal policy optimisation on a vectorised point environment.

Written the way single-file implementations in JAX usually are: environment, rollout, advantage
estimation, epochs of shuffled minibatches, all in one jitted function.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVS, STEPS, EPOCHS, MINIBATCHES = 8, 16, 2, 4
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
MOVES = jnp.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
OPTIMISER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-2, eps=1e-5))


class EnvState(NamedTuple):
    pos: jax.Array
    t: jax.Array


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    value: jax.Array
    log_prob: jax.Array
    reward: jax.Array
    done: jax.Array


def reset(key):
    state = EnvState(jax.random.uniform(key, (2,), minval=-1.0, maxval=1.0), jnp.int32(0))
    return state.pos, state


def step(key, state, action):
    pos = state.pos + 0.1 * MOVES[action]
    new = EnvState(pos, state.t + 1)
    reward = -jnp.linalg.norm(pos)
    done = (jnp.abs(pos).max() > 2.0) | (new.t >= 20)
    fresh_obs, fresh = reset(key)
    new = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, new)
    return jnp.where(done, fresh_obs, pos), new, reward, done


def network(params, obs):
    hidden = jnp.tanh(obs @ params["w1"] + params["b1"])
    hidden = jnp.tanh(hidden @ params["w2"] + params["b2"])
    return hidden @ params["pi"], (hidden @ params["v"])[..., 0]


def rollout(params, env_state, obs, key):
    def env_step(carry, _):
        env_state, obs, key = carry
        key, act_key, step_key = jax.random.split(key, 3)
        logits, value = network(params, obs)
        action = jax.random.categorical(act_key, logits)
        log_prob = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], axis=-1)[:, 0]
        keys = jax.random.split(step_key, ENVS)
        next_obs, env_state, reward, done = jax.vmap(step)(keys, env_state, action)
        transition = Transition(obs, action, value, log_prob, reward, done)
        return (env_state, next_obs, key), transition

    return jax.lax.scan(env_step, (env_state, obs, key), None, STEPS)


def advantages_of(traj, last_value):
    def backward(carry, transition):
        gae, next_value = carry
        alive = 1.0 - transition.done
        delta = transition.reward + GAMMA * next_value * alive - transition.value
        gae = delta + GAMMA * LAMBDA * alive * gae
        return (gae, transition.value), gae

    init = (jnp.zeros_like(last_value), last_value)
    _, advantages = jax.lax.scan(backward, init, traj, reverse=True, unroll=4)
    return advantages, advantages + traj.value


def loss_fn(params, batch):
    traj, advantages, targets = batch
    logits, value = network(params, traj.obs)
    log_probs = jax.nn.log_softmax(logits)
    log_prob = jnp.take_along_axis(log_probs, traj.action[:, None], axis=-1)[:, 0]
    clipped = traj.value + jnp.clip(value - traj.value, -CLIP, CLIP)
    value_loss = 0.5 * jnp.maximum((value - targets) ** 2, (clipped - targets) ** 2).mean()
    ratio = jnp.exp(log_prob - traj.log_prob)
    gae = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    actor = -jnp.minimum(ratio * gae, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * gae).mean()
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
    return actor + 0.5 * value_loss - 0.01 * entropy, (value_loss, actor, entropy)


def update_epoch(carry, _):
    params, opt_state, data, key = carry
    key, shuffle_key = jax.random.split(key)
    order = jax.random.permutation(shuffle_key, ENVS * STEPS)
    flat = jax.tree.map(lambda x: x.reshape(ENVS * STEPS, *x.shape[2:])[order], data)
    minibatches = jax.tree.map(lambda x: x.reshape(MINIBATCHES, -1, *x.shape[1:]), flat)

    def update(state, batch):
        params, opt_state = state
        (_, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, batch)
        updates, opt_state = OPTIMISER.update(grads, opt_state)
        return (optax.apply_updates(params, updates), opt_state), aux

    (params, opt_state), losses = jax.lax.scan(update, (params, opt_state), minibatches)
    return (params, opt_state, data, key), losses


@jax.jit
def entry(params, opt_state, env_state, obs, key):
    (env_state, obs, key), traj = rollout(params, env_state, obs, key)
    _, last_value = network(params, obs)
    advantages, targets = advantages_of(traj, last_value)
    carry = (params, opt_state, (traj, advantages, targets), key)
    (params, opt_state, _, key), losses = jax.lax.scan(update_epoch, carry, None, EPOCHS)
    return params, opt_state, env_state, obs, key, losses, traj.reward.sum(axis=0).mean()


def inputs():
    keys = jax.random.split(jax.random.key(0), 5)
    params = {
        "w1": 0.5 * jax.random.normal(keys[0], (2, 16)),
        "b1": jnp.zeros(16),
        "w2": 0.5 * jax.random.normal(keys[1], (16, 16)),
        "b2": jnp.zeros(16),
        "pi": 0.01 * jax.random.normal(keys[2], (16, 4)),
        "v": jax.random.normal(keys[3], (16, 1)),
    }
    obs, state = jax.vmap(reset)(jax.random.split(keys[4], ENVS))
    return params, OPTIMISER.init(params), state, obs, jax.random.key(1)


AXES = {"env_state": EnvState(pos="env dim", t="env"), "obs": "env dim"}


def check():
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, STEPS, ENVS))
    dones, last_value = rng.random((STEPS, ENVS)) < 0.2, rng.normal(size=ENVS)
    expected, following, next_value = np.zeros((STEPS, ENVS)), np.zeros(ENVS), last_value
    for t in reversed(range(STEPS)):
        ahead = np.where(dones[t], 0.0, GAMMA * (next_value + LAMBDA * following))
        expected[t] = rewards[t] + ahead - values[t]
        following, next_value = expected[t], values[t]
    unread = jnp.zeros((STEPS, ENVS))
    traj = Transition(unread, unread, *map(jnp.asarray, (values, unread, rewards, dones)))
    advantages, targets = advantages_of(traj, jnp.asarray(last_value))
    np.testing.assert_allclose(advantages, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(targets, expected + values, rtol=1e-4, atol=1e-5)

    state, returns = inputs(), []
    for _ in range(120):
        *state, _, rewarded = entry(*state)
        returns.append(float(rewarded))
    assert np.mean(returns[-20:]) > 0.6 * np.mean(returns[:20])

    grid = jnp.stack(jnp.meshgrid(*2 * [jnp.linspace(-1.0, 1.0, 9)]), axis=-1).reshape(-1, 2)
    far = grid[jnp.linalg.norm(grid, axis=-1) > 0.3]
    logits, _ = network(state[0], far)
    moved = far + 0.1 * MOVES[logits.argmax(axis=-1)]
    is_nearer = jnp.linalg.norm(moved, axis=-1) < jnp.linalg.norm(far, axis=-1)
    assert is_nearer.mean() > 0.95
