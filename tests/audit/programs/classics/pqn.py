"""Parallel Q-learning: no replay, no target network, lambda returns and layer normalisation."""

from typing import NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training.train_state import TrainState

SIZE, GOAL = 4, (0, 3)
WALLS = np.zeros((SIZE, SIZE), bool)
WALLS[1, 1:] = True
STARTS = np.array([cell for cell in np.argwhere(~WALLS) if tuple(cell) != GOAL])
MOVES = np.array([[0, 1], [0, -1], [1, 0], [-1, 0]])


class CustomTrainState(TrainState):
    timesteps: jax.Array
    n_updates: jax.Array


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    done: jax.Array
    q_val: jax.Array


def reset(key):
    return jax.random.choice(key, jnp.asarray(STARTS))


def observe(position):
    return jax.nn.one_hot(position[0] * SIZE + position[1], SIZE * SIZE)


def step(key, position, action):
    target = jnp.clip(position + jnp.asarray(MOVES)[action], 0, SIZE - 1)
    blocked = jnp.asarray(WALLS)[target[0], target[1]]
    position = jnp.where(blocked, position, target)
    done = (position == jnp.array(GOAL)).all()
    reward = done.astype(jnp.float32)
    position = jnp.where(done, reset(key), position)
    return observe(position), position, reward, done


class QNetwork(nn.Module):
    actions: int
    hidden: int = 48

    @nn.compact
    def __call__(self, x):
        for _ in range(2):
            x = nn.relu(nn.LayerNorm()(nn.Dense(self.hidden)(x)))
        return nn.Dense(self.actions)(x)


def lambda_returns(transitions, last_q, gamma, lam):
    """The returns of Peng's Q(lambda); `last_q` is the largest value after the last step."""

    def backward(carry, transition):
        next_return, next_q = carry
        mixed = lam * next_return + (1 - lam) * next_q
        result = transition.reward + gamma * (1 - transition.done) * mixed
        return (result, transition.q_val.max(axis=-1)), result

    _, targets = jax.lax.scan(backward, (last_q, last_q), transitions, reverse=True)
    return targets


def make_train(config):
    total = config["NUM_UPDATES"]
    eps_schedule = optax.linear_schedule(1.0, config["EPS_FINISH"], total // 2)
    network = QNetwork(len(MOVES))

    def eps_greedy(key, q_vals, eps):
        explore_key, action_key = jax.random.split(key)
        greedy = jnp.argmax(q_vals, axis=-1)
        random = jax.random.randint(action_key, greedy.shape, 0, q_vals.shape[-1])
        return jnp.where(jax.random.uniform(explore_key, greedy.shape) < eps, random, greedy)

    def create_agent(key):
        params = network.init(key, jnp.zeros((1, SIZE * SIZE)))
        tx = optax.chain(
            optax.clip_by_global_norm(config["MAX_GRAD_NORM"]), optax.radam(config["LR"])
        )
        return CustomTrainState.create(
            apply_fn=network.apply, params=params, tx=tx, timesteps=0, n_updates=0
        )

    def loss_fn(params, minibatch, target):
        q_vals = network.apply(params, minibatch.obs)
        chosen = jnp.take_along_axis(q_vals, minibatch.action[:, None], axis=-1).squeeze(-1)
        return 0.5 * jnp.square(chosen - target).mean()

    def learn_minibatch(train_state, batch):
        loss, grads = jax.value_and_grad(loss_fn)(train_state.params, *batch)
        return train_state.apply_gradients(grads=grads), loss

    def learn_epoch(carry, _, data):
        train_state, key = carry
        key, shuffle_key = jax.random.split(key)
        count = config["NUM_STEPS"] * config["NUM_ENVS"]
        order = jax.random.permutation(shuffle_key, count)

        def minibatches(x):
            x = x.reshape(count, *x.shape[2:])[order]
            return x.reshape(config["NUM_MINIBATCHES"], -1, *x.shape[1:])

        train_state, losses = jax.lax.scan(
            learn_minibatch, train_state, jax.tree.map(minibatches, data)
        )
        return (train_state, key), losses

    def update_step(runner_state, _):
        train_state, (obs, env_state), key = runner_state
        eps = eps_schedule(train_state.n_updates)

        def step_env(carry, _):
            obs, env_state, key = carry
            key, act_key, env_key = jax.random.split(key, 3)
            q_vals = network.apply(train_state.params, obs)
            action = eps_greedy(act_key, q_vals, eps)
            env_keys = jax.random.split(env_key, config["NUM_ENVS"])
            next_obs, env_state, reward, done = jax.vmap(step)(env_keys, env_state, action)
            return (next_obs, env_state, key), Transition(obs, action, reward, done, q_vals)

        (obs, env_state, key), transitions = jax.lax.scan(
            step_env, (obs, env_state, key), None, config["NUM_STEPS"]
        )
        train_state = train_state.replace(
            timesteps=train_state.timesteps + config["NUM_STEPS"] * config["NUM_ENVS"]
        )
        last_q = network.apply(train_state.params, obs).max(axis=-1)
        targets = lambda_returns(transitions, last_q, config["GAMMA"], config["LAMBDA"])

        data = (transitions, targets)
        (train_state, key), losses = jax.lax.scan(
            lambda carry, x: learn_epoch(carry, x, data),
            (train_state, key),
            None,
            config["NUM_EPOCHS"],
        )
        train_state = train_state.replace(n_updates=train_state.n_updates + 1)
        metrics = {
            "timesteps": train_state.timesteps,
            "td_loss": losses.mean(),
            "goals": transitions.done.mean(),
        }
        return (train_state, (obs, env_state), key), metrics

    def train(key):
        key, init_key, reset_key = jax.random.split(key, 3)
        train_state = create_agent(init_key)
        env_state = jax.vmap(reset)(jax.random.split(reset_key, config["NUM_ENVS"]))
        start = (jax.vmap(observe)(env_state), env_state)
        (train_state, *_), metrics = jax.lax.scan(
            update_step, (train_state, start, key), None, total
        )
        return train_state.params, metrics

    return train


CONFIG = {
    "NUM_ENVS": 12,
    "NUM_STEPS": 16,
    "NUM_UPDATES": 100,
    "NUM_EPOCHS": 2,
    "NUM_MINIBATCHES": 4,
    "EPS_FINISH": 0.1,
    "LR": 2e-3,
    "MAX_GRAD_NORM": 10.0,
    "GAMMA": 0.9,
    "LAMBDA": 0.6,
}
SEEDS = 3

entry = jax.jit(jax.vmap(make_train(CONFIG)))


def inputs():
    return (jax.random.split(jax.random.key(0), SEEDS),)


def distances():
    """How many steps it takes from each free cell to the goal, by breadth-first search."""
    found, border = {GOAL: 0}, [GOAL]
    for cell in border:
        for move in MOVES:
            near = (cell[0] + int(move[0]), cell[1] + int(move[1]))
            inside = 0 <= near[0] < SIZE and 0 <= near[1] < SIZE
            if inside and not WALLS[near] and near not in found:
                found[near] = found[cell] + 1
                border.append(near)
    return found


def check():
    rng = np.random.default_rng(0)
    steps, envs, gamma, lam = 6, 4, 0.8, 0.7
    rewards, q_vals = rng.normal(size=(steps, envs)), rng.normal(size=(steps, envs, 3))
    dones, last_q = rng.random((steps, envs)) < 0.3, rng.normal(size=envs)
    expected, following, next_q = np.zeros((steps, envs)), last_q, last_q
    for t in reversed(range(steps)):
        mixed = lam * following + (1 - lam) * next_q
        expected[t] = rewards[t] + np.where(dones[t], 0.0, gamma * mixed)
        following, next_q = expected[t], q_vals[t].max(axis=-1)
    transitions = Transition(
        jnp.zeros((steps, envs)),
        jnp.zeros((steps, envs)),
        *map(jnp.asarray, (rewards, dones, q_vals)),
    )
    returns = lambda_returns(transitions, jnp.asarray(last_q), gamma, lam)
    np.testing.assert_allclose(returns, expected, rtol=1e-5, atol=1e-6)

    params, metrics = entry(*inputs())
    assert (metrics["timesteps"][:, -1] == 100 * 16 * 12).all()

    steps_left = distances()
    network = QNetwork(len(MOVES))
    near = [cell for cell, left in steps_left.items() if left > 0]
    best = CONFIG["GAMMA"] ** np.array([steps_left[cell] - 1.0 for cell in near])
    for seed in range(SEEDS):
        own = jax.tree.map(lambda x, seed=seed: x[seed], params)
        cells = jnp.argwhere(jnp.ones((SIZE, SIZE)))
        q_vals = network.apply(own, jax.vmap(observe)(cells)).reshape(SIZE, SIZE, -1)
        values = np.array([q_vals[cell].max() for cell in near])
        np.testing.assert_allclose(values, best, atol=0.25)
        for cell, left in steps_left.items():  # Each greedy step comes closer to the goal.
            if left:
                row, column = np.array(cell) + MOVES[q_vals[cell].argmax()]
                assert steps_left[int(row), int(column)] == left - 1, (seed, cell)
