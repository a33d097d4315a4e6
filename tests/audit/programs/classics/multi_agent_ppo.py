"""Multi-agent PPO: agents share an actor, and a critic sees the state of all of them."""

from functools import partial
from typing import NamedTuple

import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax

CELLS, MOVES = 7, 3


@flax.struct.dataclass
class Config:
    agents: int = flax.struct.field(pytree_node=False, default=3)
    envs: int = flax.struct.field(pytree_node=False, default=16)
    steps: int = flax.struct.field(pytree_node=False, default=20)
    horizon: int = flax.struct.field(pytree_node=False, default=6)
    epochs: int = flax.struct.field(pytree_node=False, default=4)
    minibatches: int = flax.struct.field(pytree_node=False, default=5)
    gamma: float = 0.95
    gae_lambda: float = 0.9
    clip: float = 0.2
    entropy: float = 0.01


class Line(NamedTuple):
    cells: jax.Array
    t: jax.Array


class Transition(NamedTuple):
    obs: jax.Array
    world: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array


def reset(config, key):
    cells = jax.random.randint(key, (config.agents,), 0, CELLS)
    return Line(cells, jnp.int32(0))


def observe(config, state):
    """What each agent sees: who it is, where it is, and where the outermost agents are."""
    me = jnp.eye(config.agents)
    where = jax.nn.one_hot(state.cells, CELLS)
    ends = jax.nn.one_hot(jnp.stack([state.cells.min(), state.cells.max()]), CELLS).ravel()
    ends = jnp.broadcast_to(ends, (config.agents, 2 * CELLS))
    return jnp.concatenate([me, where, ends], axis=-1)


def world_state(config, state):
    return jnp.append(jax.nn.one_hot(state.cells, CELLS).ravel(), state.t / config.horizon)


def step(config, key, state, action):
    """All are paid the same for being close together."""
    cells = jnp.clip(state.cells + action - 1, 0, CELLS - 1)
    reward = -(cells.max() - cells.min()) / (CELLS - 1)
    moved = Line(cells, state.t + 1)
    done = moved.t >= config.horizon
    state = jax.tree.map(lambda a, b: jnp.where(done, a, b), reset(config, key), moved)
    return state, reward, done


class Actor(nn.Module):
    @nn.compact
    def __call__(self, obs):
        x = nn.tanh(nn.Dense(48)(obs))
        x = nn.tanh(nn.Dense(48)(x))
        return nn.Dense(MOVES, kernel_init=nn.initializers.orthogonal(0.01))(x)


class Critic(nn.Module):
    @nn.compact
    def __call__(self, world):
        x = nn.tanh(nn.Dense(48)(world))
        x = nn.tanh(nn.Dense(48)(x))
        return nn.Dense(1)(x)[..., 0]


ACTOR, CRITIC, CONFIG = Actor(), Critic(), Config()
OPTIMISER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(2e-3, eps=1e-5))


def log_prob_of(logits, action):
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], -1)[..., 0]


def rollout(config, params, states, key):
    def body(states, key):
        act_key, step_key = jax.random.split(key)
        obs = jax.vmap(partial(observe, config))(states)
        world = jax.vmap(partial(world_state, config))(states)
        logits = ACTOR.apply(params["actor"], obs)
        action = jax.random.categorical(act_key, logits)
        keys = jax.random.split(step_key, config.envs)
        states, reward, done = jax.vmap(partial(step, config))(keys, states, action)
        value = CRITIC.apply(params["critic"], world)
        log_prob = log_prob_of(logits, action)
        return states, Transition(obs, world, action, log_prob, value, reward, done)

    states, traj = jax.lax.scan(body, states, jax.random.split(key, config.steps))
    last_world = jax.vmap(partial(world_state, config))(states)
    return states, traj, CRITIC.apply(params["critic"], last_world)


def gae(config, traj, last_value):
    def backward(carry, x):
        advantage, next_value = carry
        alive = 1.0 - x.done
        delta = x.reward + config.gamma * alive * next_value - x.value
        advantage = delta + config.gamma * config.gae_lambda * alive * advantage
        return (advantage, x.value), advantage

    init = (jnp.zeros_like(last_value), last_value)
    _, advantages = jax.lax.scan(backward, init, traj, reverse=True)
    return advantages, advantages + traj.value


def loss_fn(params, config, batch):
    traj, advantages, targets = batch
    logits = ACTOR.apply(params["actor"], traj.obs)
    log_probs = jax.nn.log_softmax(logits)
    ratio = jnp.exp(log_prob_of(logits, traj.action) - traj.log_prob)
    # An environment has one advantage, for all of its agents.
    normal = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    normal = normal[:, None]
    surrogate = jnp.minimum(
        ratio * normal, jnp.clip(ratio, 1 - config.clip, 1 + config.clip) * normal
    )
    entropy = -(jnp.exp(log_probs) * log_probs).sum(-1)
    value = CRITIC.apply(params["critic"], traj.world)
    clipped = traj.value + jnp.clip(value - traj.value, -config.clip, config.clip)
    value_loss = jnp.maximum(jnp.square(value - targets), jnp.square(clipped - targets))
    return 0.5 * value_loss.mean() - surrogate.mean() - config.entropy * entropy.mean()


def update(config, params, opt_state, data, key):
    count = config.steps * config.envs
    flat = jax.tree.map(lambda x: x.reshape(count, *x.shape[2:]), data)

    def epoch(carry, key):
        order = jax.random.permutation(key, count).reshape(config.minibatches, -1)

        def minibatch(carry, indices):
            params, opt_state = carry
            batch = jax.tree.map(lambda x: x[indices], flat)
            loss, grads = jax.value_and_grad(loss_fn)(params, config, batch)
            updates, opt_state = OPTIMISER.update(grads, opt_state, params)
            return (optax.apply_updates(params, updates), opt_state), loss

        return jax.lax.scan(minibatch, carry, order)

    return jax.lax.scan(epoch, (params, opt_state), jax.random.split(key, config.epochs))


@jax.jit
def entry(config, params, opt_state, states, key):
    rollout_key, update_key = jax.random.split(key)
    states, traj, last_value = rollout(config, params, states, rollout_key)
    advantages, targets = gae(config, traj, last_value)
    data = (traj, advantages, targets)
    (params, opt_state), losses = update(config, params, opt_state, data, update_key)
    return params, opt_state, states, {"loss": losses.mean(), "reward": traj.reward.mean()}


def inputs():
    actor_key, critic_key, env_key = jax.random.split(jax.random.key(0), 3)
    states = jax.vmap(partial(reset, CONFIG))(jax.random.split(env_key, CONFIG.envs))
    example = jax.tree.map(lambda x: x[0], states)
    params = {
        "actor": ACTOR.init(actor_key, observe(CONFIG, example)),
        "critic": CRITIC.init(critic_key, world_state(CONFIG, example)),
    }
    return CONFIG, params, OPTIMISER.init(params), states, jax.random.key(1)


AXES = {"states": Line(cells="env agent", t="env")}


def play(config, params, state, act):
    def body(state, _):
        action = act(params, observe(config, state))
        state, reward, _ = step(config, jax.random.key(0), state, action)
        return state, reward

    return jax.lax.scan(body, state, None, config.horizon)[1].sum()


def gae_in_numpy(config, traj, last_value):
    advantages = np.zeros_like(traj.reward)
    following = np.concatenate([traj.value[1:], last_value[None]])
    deltas = traj.reward + config.gamma * following * ~traj.done - traj.value
    for t in range(len(deltas)):
        weight = np.ones_like(last_value)
        for k in range(t, len(deltas)):
            advantages[t] += weight * deltas[k]
            weight = weight * config.gamma * config.gae_lambda * ~traj.done[k]
    return advantages


def check():
    rng = np.random.default_rng(0)
    shape = (8, 4)
    numbers = Transition(
        *[np.zeros(shape)] * 4,
        value=rng.normal(size=shape),
        reward=rng.normal(size=shape),
        done=rng.random(shape) < 0.25,
    )
    last = rng.normal(size=4)
    advantages, _ = gae(CONFIG, jax.tree.map(jnp.asarray, numbers), jnp.asarray(last))
    np.testing.assert_allclose(
        advantages, gae_in_numpy(CONFIG, numbers, last), rtol=1e-4, atol=1e-5
    )

    config, params, opt_state, states, key = inputs()

    def body(carry, key):
        *carry, metrics = entry(config, *carry, key)
        return tuple(carry), metrics

    train = jax.jit(lambda *carry: jax.lax.scan(body, carry, jax.random.split(key, 60)))
    (trained, *_), _ = train(params, opt_state, states)

    starts = jax.vmap(partial(reset, config))(jax.random.split(jax.random.key(5), 300))
    spread = np.asarray(starts.cells.max(axis=1) - starts.cells.min(axis=1))
    # Where the outermost agents move towards each other, it shrinks by two.
    best = sum(-np.maximum(spread - 2 * t, 0) for t in range(1, config.horizon + 1)) / (CELLS - 1)

    def returns(params, act):
        return jax.vmap(lambda state: play(config, params, state, act))(starts).mean()

    def greedy(params, obs):
        return jnp.argmax(ACTOR.apply(params["actor"], obs), axis=-1)

    before, after = returns(params, greedy), returns(trained, greedy)
    assert before < 3 * best.mean(), (before, best.mean())
    assert after > 1.25 * best.mean(), (after, best.mean())
