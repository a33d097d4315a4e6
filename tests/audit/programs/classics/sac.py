"""Soft actor-critic with a learned temperature on a linear plant, in equinox."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

OBS, ACTIONS, HORIZON, LIMIT = 2, 1, 16, 2.0
GAMMA, TAU, CAPACITY, BATCH, WARM_UP = 0.9, 0.01, 4096, 64, 400
A = jnp.array([[1.0, 0.5], [0.0, 1.0]])
B = jnp.array([[0.125], [0.5]])
STATE_COST, ACTION_COST = jnp.diag(jnp.array([1.0, 0.1])), jnp.array([[0.2]])


class EnvState(NamedTuple):
    x: jax.Array
    t: jax.Array


class Batch(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    next_obs: jax.Array


class Replay(NamedTuple):
    data: Batch
    position: jax.Array
    size: jax.Array


class Actor(eqx.Module):
    trunk: eqx.nn.MLP

    def __init__(self, key):
        self.trunk = eqx.nn.MLP(OBS, 2 * ACTIONS, 48, 2, key=key)

    def __call__(self, obs, key):
        mean, log_std = jnp.split(self.trunk(obs), 2)
        std = jnp.exp(jnp.clip(log_std, -5.0, 2.0))
        u = mean + std * jax.random.normal(key, mean.shape)
        log_prob = jax.scipy.stats.norm.logpdf(u, mean, std)
        # The density of tanh(u), by the change of variables, written so that it does not overflow.
        log_prob -= 2.0 * (jnp.log(2.0) - u - jax.nn.softplus(-2.0 * u))
        return jnp.tanh(u), log_prob.sum()

    def deterministic(self, obs):
        mean, _ = jnp.split(self.trunk(obs), 2)
        return jnp.tanh(mean)


class Critic(eqx.Module):
    trunk: eqx.nn.MLP

    def __init__(self, key):
        self.trunk = eqx.nn.MLP(OBS + ACTIONS, "scalar", 48, 2, key=key)

    def __call__(self, obs, action):
        return self.trunk(jnp.concatenate([obs, action]))


class Learner(eqx.Module):
    actor: Actor
    critics: Critic
    target_critics: Critic
    log_alpha: jax.Array
    actor_opt: optax.OptState
    critic_opt: optax.OptState
    alpha_opt: optax.OptState


ACTOR_TX, CRITIC_TX, ALPHA_TX = optax.adam(2e-3), optax.adam(2e-3), optax.adam(2e-3)


def reset(key):
    return EnvState(jax.random.uniform(key, (OBS,), minval=-0.5, maxval=0.5), jnp.int32(0))


def step(key, state, action):
    """The next observation is that before a reset; episodes end by the clock alone."""
    reward = -(state.x @ STATE_COST @ state.x + action @ ACTION_COST @ action)
    x = jnp.clip(A @ state.x + B @ action, -LIMIT, LIMIT)
    moved = EnvState(x, state.t + 1)
    over = moved.t >= HORIZON
    state = jax.tree.map(lambda a, b: jnp.where(over, a, b), reset(key), moved)
    return x, state, reward


def add(replay, transition):
    data = jax.tree.map(lambda all, new: all.at[replay.position].set(new), replay.data, transition)
    position = (replay.position + 1) % CAPACITY
    return Replay(data, position, jnp.minimum(replay.size + 1, CAPACITY))


def sample(replay, key):
    indices = jax.random.randint(key, (BATCH,), 0, replay.size)
    return jax.tree.map(lambda x: x[indices], replay.data)


@eqx.filter_vmap(in_axes=(eqx.if_array(0), None, None))
def ensemble(critic, obs, action):
    return jax.vmap(critic)(obs, action)


def critic_loss(critics, learner, batch, key):
    keys = jax.random.split(key, BATCH)
    next_action, next_log_prob = jax.vmap(learner.actor)(batch.next_obs, keys)
    next_q = ensemble(learner.target_critics, batch.next_obs, next_action).min(axis=0)
    soft_value = next_q - jnp.exp(learner.log_alpha) * next_log_prob
    target = jax.lax.stop_gradient(batch.reward + GAMMA * soft_value)
    q = ensemble(critics, batch.obs, batch.action)
    return jnp.square(q - target).mean()


def actor_loss(actor, critics, log_alpha, batch, key):
    action, log_prob = jax.vmap(actor)(batch.obs, jax.random.split(key, BATCH))
    q = ensemble(critics, batch.obs, action).min(axis=0)
    return (jnp.exp(log_alpha) * log_prob - q).mean(), log_prob.mean()


def alpha_loss(log_alpha, log_prob):
    target_entropy = -float(ACTIONS)
    return -log_alpha * jax.lax.stop_gradient(log_prob + target_entropy)


def update(learner, batch, key):
    critic_key, actor_key = jax.random.split(key)
    loss, grads = eqx.filter_value_and_grad(critic_loss)(
        learner.critics, learner, batch, critic_key
    )
    updates, critic_opt = CRITIC_TX.update(grads, learner.critic_opt)
    critics = eqx.apply_updates(learner.critics, updates)

    (_, log_prob), grads = eqx.filter_value_and_grad(actor_loss, has_aux=True)(
        learner.actor, critics, learner.log_alpha, batch, actor_key
    )
    updates, actor_opt = ACTOR_TX.update(grads, learner.actor_opt)
    actor = eqx.apply_updates(learner.actor, updates)

    grads = jax.grad(alpha_loss)(learner.log_alpha, log_prob)
    updates, alpha_opt = ALPHA_TX.update(grads, learner.alpha_opt)
    log_alpha = optax.apply_updates(learner.log_alpha, updates)

    new, static = eqx.partition(critics, eqx.is_inexact_array)
    old, _ = eqx.partition(learner.target_critics, eqx.is_inexact_array)
    target_critics = eqx.combine(optax.incremental_update(new, old, TAU), static)
    return (
        Learner(actor, critics, target_critics, log_alpha, actor_opt, critic_opt, alpha_opt),
        loss,
    )


def interact(learner, replay, env_state, key, warm):
    act_key, random_key, step_key = jax.random.split(key, 3)
    action, _ = learner.actor(env_state.x, act_key)
    uniform = jax.random.uniform(random_key, (ACTIONS,), minval=-1.0, maxval=1.0)
    action = jnp.where(warm, action, uniform)
    next_obs, next_state, reward = step(step_key, env_state, action)
    return add(replay, Batch(env_state.x, action, reward, next_obs)), next_state, reward


@eqx.filter_jit
def entry(learner, replay, env_state, key):
    act_key, sample_key, update_key = jax.random.split(key, 3)
    warm = replay.size >= WARM_UP
    replay, env_state, reward = interact(learner, replay, env_state, act_key, warm)
    trained, loss = update(learner, sample(replay, sample_key), update_key)
    learner = jax.tree.map(
        lambda new, old: jnp.where(warm, new, old) if eqx.is_array(new) else new, trained, learner
    )
    return learner, replay, env_state, (loss, reward)


def inputs():
    actor_key, critic_key, env_key = jax.random.split(jax.random.key(0), 3)
    actor = Actor(actor_key)
    critics = eqx.filter_vmap(Critic)(jax.random.split(critic_key, 2))
    log_alpha = jnp.array(-1.0)
    learner = Learner(
        actor,
        critics,
        critics,
        log_alpha,
        ACTOR_TX.init(eqx.filter(actor, eqx.is_inexact_array)),
        CRITIC_TX.init(eqx.filter(critics, eqx.is_inexact_array)),
        ALPHA_TX.init(log_alpha),
    )
    empty = Batch(
        jnp.zeros((CAPACITY, OBS)),
        jnp.zeros((CAPACITY, ACTIONS)),
        jnp.zeros(CAPACITY),
        jnp.zeros((CAPACITY, OBS)),
    )
    replay = Replay(empty, jnp.int32(0), jnp.int32(0))
    return learner, replay, reset(env_key), jax.random.key(1)


def train(steps):
    learner, replay, env_state, key = inputs()
    arrays, static = eqx.partition(learner, eqx.is_array)

    def body(carry, key):
        arrays, replay, env_state = carry
        learner, replay, env_state, metrics = entry(
            eqx.combine(arrays, static), replay, env_state, key
        )
        return (eqx.filter(learner, eqx.is_array), replay, env_state), metrics

    scan = jax.jit(lambda *carry: jax.lax.scan(body, carry, jax.random.split(key, steps)))
    (arrays, *_), metrics = scan(arrays, replay, env_state)
    return eqx.combine(arrays, static), metrics


def cost_of(policy, start):
    def body(x, _):
        action = policy(x)
        cost = x @ STATE_COST @ x + action @ ACTION_COST @ action
        return jnp.clip(A @ x + B @ action, -LIMIT, LIMIT), cost

    _, costs = jax.lax.scan(body, start, None, HORIZON)
    return (costs * GAMMA ** jnp.arange(HORIZON)).sum()


def check():
    learner, _ = train(2000)

    # The discounted linear-quadratic problem has a closed form.
    a, b, q, r = (np.asarray(x, np.float64) for x in (A, B, STATE_COST, ACTION_COST))
    p = q
    for _ in range(500):
        gain = np.linalg.solve(r + GAMMA * b.T @ p @ b, GAMMA * b.T @ p @ a)
        p = q + GAMMA * a.T @ p @ (a - b @ gain)
    gain = jnp.asarray(gain, jnp.float32)

    starts = jax.random.uniform(jax.random.key(7), (64, OBS), minval=-0.5, maxval=0.5)
    best, learned, untrained = (
        jax.vmap(lambda x, policy=policy: cost_of(policy, x))(starts).mean()
        for policy in (
            lambda x: jnp.clip(-gain @ x, -1.0, 1.0),
            learner.actor.deterministic,
            inputs()[0].actor.deterministic,
        )
    )
    assert untrained > 2.0 * best, (untrained, best)
    assert learned < 1.25 * best, (learned, best)
    assert jnp.exp(learner.log_alpha) < 0.2, learner.log_alpha
