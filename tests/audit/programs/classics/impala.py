"""IMPALA: a learner that corrects for the lag of its actors by v-trace, in plain JAX and optax."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

ENVS, STEPS, LIMIT = 32, 20, 200
GAMMA, RHO_BAR, C_BAR, ENTROPY = 0.99, 1.0, 1.0, 0.01
LAG = 3  # updates from one refresh of the actors' parameters to the next
OPTIMISER = optax.chain(optax.clip_by_global_norm(10.0), optax.rmsprop(2e-3, decay=0.99, eps=1e-3))


class CartPole(NamedTuple):
    x: jax.Array
    x_dot: jax.Array
    theta: jax.Array
    theta_dot: jax.Array
    t: jax.Array


class Trajectory(NamedTuple):
    obs: jax.Array
    action: jax.Array
    logits: jax.Array
    reward: jax.Array
    discount: jax.Array


class Learner(NamedTuple):
    params: dict
    opt_state: optax.OptState
    actor_params: dict
    updates: jax.Array


def reset(key):
    return CartPole(*jax.random.uniform(key, (4,), minval=-0.05, maxval=0.05), jnp.int32(0))


def observe(state):
    return jnp.stack(state[:4], axis=-1)


def step(key, state, action):
    force = jnp.where(action == 1, 10.0, -10.0)
    cos, sin = jnp.cos(state.theta), jnp.sin(state.theta)
    push = (force + 0.05 * state.theta_dot**2 * sin) / 1.1
    theta_acc = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos**2 / 1.1))
    x_acc = push - 0.05 * theta_acc * cos / 1.1
    state = CartPole(
        state.x + 0.02 * state.x_dot,
        state.x_dot + 0.02 * x_acc,
        state.theta + 0.02 * state.theta_dot,
        state.theta_dot + 0.02 * theta_acc,
        state.t + 1,
    )
    fallen = (jnp.abs(state.x) > 2.4) | (jnp.abs(state.theta) > 0.2095)
    over = fallen | (state.t >= LIMIT)
    state = jax.tree.map(lambda new, old: jnp.where(over, new, old), reset(key), state)
    return state, 1.0, jnp.where(over, 0.0, GAMMA)


def init_params(key, hidden=64):
    keys = jax.random.split(key, 4)
    dense = jax.nn.initializers.lecun_normal()
    return {
        "body": [
            {"w": dense(keys[0], (4, hidden)), "b": jnp.zeros(hidden)},
            {"w": dense(keys[1], (hidden, hidden)), "b": jnp.zeros(hidden)},
        ],
        "policy": {"w": 0.01 * dense(keys[2], (hidden, 2)), "b": jnp.zeros(2)},
        "value": {"w": dense(keys[3], (hidden, 1)), "b": jnp.zeros(1)},
    }


def apply(params, obs):
    for layer in params["body"]:
        obs = jnp.tanh(obs @ layer["w"] + layer["b"])
    logits = obs @ params["policy"]["w"] + params["policy"]["b"]
    value = obs @ params["value"]["w"] + params["value"]["b"]
    return logits, value.squeeze(-1)


def log_prob(logits, action):
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], -1).squeeze(-1)


def vtrace(log_rhos, discounts, rewards, values, last_value):
    """Targets of the values and advantages of the policy, both over (time, env)."""
    rhos = jnp.exp(log_rhos)
    clipped_rhos = jnp.minimum(RHO_BAR, rhos)
    cs = jnp.minimum(C_BAR, rhos)
    next_values = jnp.concatenate([values[1:], last_value[None]])
    deltas = clipped_rhos * (rewards + discounts * next_values - values)

    def backward(acc, x):
        delta, discount, c = x
        acc = delta + discount * c * acc
        return acc, acc

    _, corrections = jax.lax.scan(
        backward, jnp.zeros_like(last_value), (deltas, discounts, cs), reverse=True
    )
    targets = values + corrections
    next_targets = jnp.concatenate([targets[1:], last_value[None]])
    advantages = clipped_rhos * (rewards + discounts * next_targets - values)
    return targets, advantages


def rollout(actor_params, states, key):
    def body(states, key):
        act_key, step_key = jax.random.split(key)
        obs = observe(states)
        logits, _ = apply(actor_params, obs)
        action = jax.random.categorical(act_key, logits)
        keys = jax.random.split(step_key, ENVS)
        states, reward, discount = jax.vmap(step)(keys, states, action)
        return states, Trajectory(obs, action, logits, reward, discount)

    return jax.lax.scan(body, states, jax.random.split(key, STEPS))


def loss_fn(params, traj, last_obs):
    logits, values = apply(params, traj.obs)
    _, last_value = apply(params, last_obs)
    target_log_prob = log_prob(logits, traj.action)
    log_rhos = target_log_prob - log_prob(traj.logits, traj.action)
    targets, advantages = vtrace(
        *jax.lax.stop_gradient((log_rhos, traj.discount, traj.reward, values, last_value))
    )
    policy_loss = -(target_log_prob * advantages).mean()
    value_loss = 0.5 * jnp.square(targets - values).mean()
    entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(axis=-1).mean()
    return policy_loss + 0.5 * value_loss - ENTROPY * entropy


@jax.jit
def entry(learner, states, key):
    states, traj = rollout(learner.actor_params, states, key)
    loss, grads = jax.value_and_grad(loss_fn)(learner.params, traj, observe(states))
    updates, opt_state = OPTIMISER.update(grads, learner.opt_state, learner.params)
    params = optax.apply_updates(learner.params, updates)
    count = learner.updates + 1
    refresh = count % LAG == 0
    actor_params = jax.tree.map(
        lambda new, old: jnp.where(refresh, new, old), params, learner.actor_params
    )
    ended = (traj.discount == 0.0).sum()
    return Learner(params, opt_state, actor_params, count), states, {"loss": loss, "ended": ended}


def inputs():
    param_key, env_key = jax.random.split(jax.random.key(0))
    params = init_params(param_key)
    states = jax.vmap(reset)(jax.random.split(env_key, ENVS))
    learner = Learner(params, OPTIMISER.init(params), params, jnp.int32(0))
    return learner, states, jax.random.key(1)


AXES = {"states": CartPole("env", "env", "env", "env", "env")}


def vtrace_in_numpy(log_rhos, discounts, rewards, values, last_value):
    """The sum of equation (1) in the paper, term by term."""
    steps = len(rewards)
    rhos = np.minimum(RHO_BAR, np.exp(log_rhos))
    cs = np.minimum(C_BAR, np.exp(log_rhos))
    following = np.concatenate([values, last_value[None]])
    targets = np.array(values)
    for s in range(steps):
        for t in range(s, steps):
            weight = discounts[s:t].prod(axis=0) * cs[s:t].prod(axis=0)
            td = rewards[t] + discounts[t] * following[t + 1] - following[t]
            targets[s] += weight * rhos[t] * td
    next_targets = np.concatenate([targets, last_value[None]])[1:]
    return targets, rhos * (rewards + discounts * next_targets - values)


def check():
    rng = np.random.default_rng(0)
    log_rhos, rewards, values = rng.normal(size=(3, 6, 4))
    discounts = np.where(rng.random((6, 4)) < 0.25, 0.0, 0.9)
    arguments = log_rhos, discounts, rewards, values, rng.normal(size=4)
    expected = vtrace_in_numpy(*arguments)
    for got, reference in zip(vtrace(*map(jnp.asarray, arguments)), expected, strict=True):
        np.testing.assert_allclose(got, reference, rtol=1e-5, atol=1e-5)

    def body(carry, key):
        learner, states, metrics = entry(*carry, key)
        return (learner, states), metrics

    learner, states, key = inputs()
    train = jax.jit(lambda *carry: jax.lax.scan(body, carry, jax.random.split(key, 300)))
    _, metrics = train(learner, states)
    length = ENVS * STEPS / metrics["ended"]  # of episodes, on average
    assert length[:10].mean() < 40, length[:10]
    assert length[-30:].mean() > 120, length[-30:]
