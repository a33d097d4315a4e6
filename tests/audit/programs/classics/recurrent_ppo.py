"""Recurrent proximal policy optimisation on a task that only memory solves, in flax linen."""

from functools import partial
from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState

CUES = 3
CONFIG = {
    "envs": 24,
    "updates": 40,
    "steps": 16,
    "epochs": 4,
    "minibatches": 3,
    "hidden": 32,
    "lr": 4e-3,
    "gamma": 0.97,
    "gae_lambda": 0.9,
    "clip": 0.2,
    "entropy_coef": 0.01,
    "value_coef": 0.5,
}


class EnvState(NamedTuple):
    cue: jax.Array
    length: jax.Array
    t: jax.Array


class Transition(NamedTuple):
    start: jax.Array  # whether obs is the first of its episode
    obs: jax.Array
    action: jax.Array
    value: jax.Array
    log_prob: jax.Array
    reward: jax.Array


def observe(state):
    shown = jnp.where(state.t == 0, jax.nn.one_hot(state.cue, CUES), 0.0)
    return jnp.append(shown, state.t == state.length - 1)


def reset(key):
    """The cue is shown once; after some steps, the agent is asked for it."""
    cue_key, length_key = jax.random.split(key)
    cue = jax.random.randint(cue_key, (), 0, CUES)
    state = EnvState(cue, jax.random.randint(length_key, (), 3, 7), jnp.int32(0))
    return observe(state), state


def step(key, state, action):
    done = state.t == state.length - 1
    reward = jnp.where(done & (action == state.cue), 1.0, 0.0)
    later = state._replace(t=state.t + 1)
    fresh_obs, fresh = reset(key)
    state = jax.tree.map(lambda a, b: jnp.where(done, a, b), fresh, later)
    return jnp.where(done, fresh_obs, observe(later)), state, reward, done


class ScannedGRU(nn.Module):
    features: int

    @partial(
        nn.scan,
        variable_broadcast="params",
        in_axes=0,
        out_axes=0,
        split_rngs={"params": False},
    )
    @nn.compact
    def __call__(self, carry, inputs):
        x, start = inputs
        carry = jnp.where(start[:, None], jnp.zeros_like(carry), carry)
        return nn.GRUCell(self.features)(carry, x)


class ActorCritic(nn.Module):
    actions: int
    hidden: int

    @nn.compact
    def __call__(self, carry, inputs):
        obs, start = inputs
        x = nn.relu(nn.Dense(self.hidden)(obs))
        carry, x = ScannedGRU(self.hidden)(carry, (x, start))
        actor = nn.relu(nn.Dense(self.hidden)(x))
        logits = nn.Dense(self.actions, kernel_init=nn.initializers.orthogonal(0.01))(actor)
        critic = nn.relu(nn.Dense(self.hidden)(x))
        value = nn.Dense(1, kernel_init=nn.initializers.orthogonal(1.0))(critic)
        return carry, logits, value[..., 0]


def log_prob_of(logits, action):
    return jnp.take_along_axis(jax.nn.log_softmax(logits), action[..., None], axis=-1)[..., 0]


def generalised_advantages(traj, last_value, last_start, gamma, gae_lambda):
    def backward(carry, transition):
        gae, next_value, next_start = carry
        going_on = 1.0 - next_start
        delta = transition.reward + gamma * next_value * going_on - transition.value
        gae = delta + gamma * gae_lambda * going_on * gae
        return (gae, transition.value, transition.start), gae

    init = (jnp.zeros_like(last_value), last_value, last_start)
    _, advantages = jax.lax.scan(backward, init, traj, reverse=True)
    return advantages, advantages + traj.value


def make_train(config):
    network = ActorCritic(CUES, config["hidden"])
    transitions = config["updates"] * config["epochs"] * config["minibatches"]
    tx = optax.chain(
        optax.clip_by_global_norm(0.5),
        optax.adam(optax.linear_schedule(config["lr"], 0.0, transitions), eps=1e-5),
    )

    def loss_fn(params, carry, traj, advantages, targets):
        _, logits, value = network.apply(params, carry, (traj.obs, traj.start))
        ratio = jnp.exp(log_prob_of(logits, traj.action) - traj.log_prob)
        gae = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        clipped = jnp.clip(ratio, 1 - config["clip"], 1 + config["clip"])
        actor_loss = -jnp.minimum(ratio * gae, clipped * gae).mean()
        value_loss = 0.5 * jnp.square(value - targets).mean()
        entropy = -(jax.nn.softmax(logits) * jax.nn.log_softmax(logits)).sum(-1).mean()
        total = actor_loss + config["value_coef"] * value_loss - config["entropy_coef"] * entropy
        return total, (value_loss, actor_loss, entropy)

    def env_step(runner, _):
        train_state, env_state, obs, start, carry, key = runner
        key, action_key, step_key = jax.random.split(key, 3)
        inputs = (obs[None], start[None])
        carry, logits, value = network.apply(train_state.params, carry, inputs)
        logits, value = logits[0], value[0]
        action = jax.random.categorical(action_key, logits)
        step_keys = jax.random.split(step_key, config["envs"])
        next_obs, env_state, reward, done = jax.vmap(step)(step_keys, env_state, action)
        log_prob = log_prob_of(logits, action)
        transition = Transition(start, obs, action, value, log_prob, reward)
        return (train_state, env_state, next_obs, done, carry, key), transition

    def update_minibatch(train_state, batch):
        carry, traj, advantages, targets = batch
        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        losses, grads = grad_fn(train_state.params, carry[0], traj, advantages, targets)
        return train_state.apply_gradients(grads=grads), losses

    def update_epoch(state, _):
        train_state, batch, key = state
        key, shuffle_key = jax.random.split(key)
        order = jax.random.permutation(shuffle_key, config["envs"])

        def split(x):
            x = jnp.take(x, order, axis=1)
            x = x.reshape(x.shape[0], config["minibatches"], -1, *x.shape[2:])
            return jnp.swapaxes(x, 0, 1)

        train_state, losses = jax.lax.scan(
            update_minibatch, train_state, jax.tree.map(split, batch)
        )
        return (train_state, batch, key), losses

    def update_step(runner, _):
        initial_carry = runner[4]
        runner, traj = jax.lax.scan(env_step, runner, None, config["steps"])
        train_state, env_state, obs, start, carry, key = runner
        _, _, last_value = network.apply(train_state.params, carry, (obs[None], start[None]))
        advantages, targets = generalised_advantages(
            traj, last_value[0], start, config["gamma"], config["gae_lambda"]
        )
        batch = (initial_carry[None], traj, advantages, targets)
        (train_state, _, key), losses = jax.lax.scan(
            update_epoch, (train_state, batch, key), None, config["epochs"]
        )
        ends = jnp.concatenate([traj.start[1:], start[None]])
        metrics = {"success": traj.reward.sum() / ends.sum(), "loss": losses[0].mean()}
        return (train_state, env_state, obs, start, carry, key), metrics

    def train(key):
        key, init_key, reset_key = jax.random.split(key, 3)
        obs, env_state = jax.vmap(reset)(jax.random.split(reset_key, config["envs"]))
        start = jnp.ones(config["envs"], bool)
        carry = jnp.zeros((config["envs"], config["hidden"]))
        params = network.init(init_key, carry, (obs[None], start[None]))
        train_state = TrainState.create(apply_fn=network.apply, params=params, tx=tx)
        runner = (train_state, env_state, obs, start, carry, key)
        runner, metrics = jax.lax.scan(update_step, runner, None, config["updates"])
        return runner[0].params, metrics

    return train


entry = jax.jit(make_train(CONFIG))


def inputs():
    return (jax.random.key(0),)


def advantages_in_numpy(traj, last_value, last_start, gamma, gae_lambda):
    steps, envs = traj.reward.shape
    values = np.concatenate([traj.value, last_value[None]])
    starts = np.concatenate([traj.start, last_start[None]]).astype(float)
    advantages = np.zeros((steps, envs))
    for env in range(envs):
        for t in range(steps):
            weight = 1.0
            for k in range(t, steps):
                going_on = 1.0 - starts[k + 1, env]
                bootstrap = gamma * values[k + 1, env] * going_on
                advantages[t, env] += weight * (traj.reward[k, env] + bootstrap - values[k, env])
                weight *= gamma * gae_lambda * going_on
    return advantages


def check():
    rng = np.random.default_rng(0)
    shape = (7, 5)
    traj = Transition(
        start=rng.random(shape) < 0.3,
        obs=np.zeros((*shape, 4)),
        action=np.zeros(shape, int),
        value=rng.normal(size=shape),
        log_prob=np.zeros(shape),
        reward=rng.normal(size=shape),
    )
    last = rng.normal(size=5), rng.random(5) < 0.3
    expected = advantages_in_numpy(traj, *last, 0.9, 0.8)
    traj, last = jax.tree.map(jnp.asarray, (traj, last))
    advantages, _ = generalised_advantages(traj, *last, 0.9, 0.8)
    np.testing.assert_allclose(advantages, expected, rtol=1e-4, atol=1e-5)

    params, metrics = entry(*inputs())

    # An episode is seen the same way whatever came before it.
    network = ActorCritic(CUES, CONFIG["hidden"])
    obs = jnp.asarray(rng.random((6, 2, CUES + 1)), jnp.float32)
    start = jnp.zeros((6, 2), bool).at[0].set(True).at[3].set(True)
    carry = jnp.ones((2, CONFIG["hidden"]))
    _, whole, _ = network.apply(params, carry, (obs, start))
    _, second, _ = network.apply(params, 2 * carry, (obs[3:], start[3:]))
    np.testing.assert_allclose(whole[3:], second, rtol=1e-5, atol=1e-6)

    success = metrics["success"]
    assert success[:3].mean() < 0.5, success[:3]  # one in three is luck
    assert success[-5:].mean() > 0.95, success[-5:]
