"""Double deep Q-learning on a game of catch, with flashbax's replay buffer and flax linen."""

import flashbax as fbx
import flax.linen as nn
import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state

ROWS, COLUMNS, ACTIONS = 6, 5, 3
ENVS, BATCH, GAMMA = 8, 64, 0.9
TRAIN_EVERY, TARGET_EVERY, STEPS = 2, 50, 1200


@flax.struct.dataclass
class Catch:
    row: jax.Array
    ball: jax.Array
    paddle: jax.Array


@flax.struct.dataclass
class Step:
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    done: jax.Array


class TrainState(train_state.TrainState):
    target_params: dict


@flax.struct.dataclass
class Runner:
    train: TrainState
    env: Catch
    obs: jax.Array
    buffer: fbx.flat_buffer.TrajectoryBufferState
    key: jax.Array
    steps: jax.Array


def observe(state):
    board = jnp.zeros((ROWS, COLUMNS))
    board = board.at[state.row, state.ball].set(1.0)
    return board.at[ROWS - 1, state.paddle].add(0.5).ravel()


def reset(key):
    ball_key, paddle_key = jax.random.split(key)
    ball = jax.random.randint(ball_key, (), 0, COLUMNS)
    paddle = jax.random.randint(paddle_key, (), 0, COLUMNS)
    return Catch(jnp.int32(0), ball, paddle)


def step(key, state, action):
    paddle = jnp.clip(state.paddle + action - 1, 0, COLUMNS - 1)
    state = state.replace(row=state.row + 1, paddle=paddle)
    done = state.row == ROWS - 1
    caught = jnp.where(state.ball == state.paddle, 1.0, -1.0)
    reward = jnp.where(done, caught, 0.0)
    state = jax.tree.map(lambda new, old: jnp.where(done, new, old), reset(key), state)
    return observe(state), state, reward, done


class QNetwork(nn.Module):
    actions: int

    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(64)(x))
        x = nn.relu(nn.Dense(64)(x))
        return nn.Dense(self.actions)(x)


NETWORK = QNetwork(ACTIONS)
BUFFER = fbx.make_flat_buffer(
    max_length=4096,
    min_length=256,
    sample_batch_size=BATCH,
    add_sequences=False,
    add_batch_size=ENVS,
)
EXPLORATION = optax.linear_schedule(1.0, 0.05, STEPS // 2)


def td_loss(params, target_params, first, second):
    q = NETWORK.apply(params, first.obs)
    q_taken = jnp.take_along_axis(q, first.action[:, None], axis=-1)[:, 0]
    best = jnp.argmax(NETWORK.apply(params, second.obs), axis=-1)
    q_next = NETWORK.apply(target_params, second.obs)
    q_next = jnp.take_along_axis(q_next, best[:, None], axis=-1)[:, 0]
    target = first.reward + GAMMA * (1.0 - first.done) * q_next
    return optax.huber_loss(q_taken, jax.lax.stop_gradient(target)).mean()


def act(runner, key):
    greedy_key, action_key = jax.random.split(key)
    greedy = jnp.argmax(NETWORK.apply(runner.train.params, runner.obs), axis=-1)
    random = jax.random.randint(action_key, greedy.shape, 0, ACTIONS)
    explore = jax.random.uniform(greedy_key, greedy.shape) < EXPLORATION(runner.steps)
    return jnp.where(explore, random, greedy)


def learn(train, buffer, key):
    batch = BUFFER.sample(buffer, key).experience
    loss, grads = jax.value_and_grad(td_loss)(
        train.params, train.target_params, batch.first, batch.second
    )
    return train.apply_gradients(grads=grads), loss


def train_step(runner, _):
    key, act_key, step_key, sample_key = jax.random.split(runner.key, 4)
    action = act(runner, act_key)
    step_keys = jax.random.split(step_key, ENVS)
    obs, env, reward, done = jax.vmap(step)(step_keys, runner.env, action)
    buffer = BUFFER.add(runner.buffer, Step(runner.obs, action, reward, done))

    train, loss = jax.lax.cond(
        BUFFER.can_sample(buffer) & (runner.steps % TRAIN_EVERY == 0),
        learn,
        lambda train, buffer, key: (train, 0.0),
        runner.train,
        buffer,
        sample_key,
    )
    steps = runner.steps + 1
    train = train.replace(
        target_params=optax.periodic_update(train.params, train.target_params, steps, TARGET_EVERY)
    )
    runner = Runner(train=train, env=env, obs=obs, buffer=buffer, key=key, steps=steps)
    return runner, {"loss": loss, "reward": reward.sum(), "episodes": done.sum()}


@jax.jit
def entry(runner):
    return train_step(runner, None)


def inputs():
    key, init_key, reset_key = jax.random.split(jax.random.key(0), 3)
    env = jax.vmap(reset)(jax.random.split(reset_key, ENVS))
    obs = jax.vmap(observe)(env)
    example = Step(obs[0], jnp.int32(0), jnp.float32(0.0), jnp.bool_(False))
    params = NETWORK.init(init_key, obs)
    train = TrainState.create(
        apply_fn=NETWORK.apply, params=params, target_params=params, tx=optax.adam(1e-3)
    )
    runner = Runner(
        train=train, env=env, obs=obs, buffer=BUFFER.init(example), key=key, steps=jnp.int32(0)
    )
    return (runner,)


def check():
    runner, metrics = jax.jit(lambda r: jax.lax.scan(train_step, r, None, STEPS))(*inputs())
    early, late = (
        metrics["reward"][part].sum() / metrics["episodes"][part].sum()
        for part in (slice(100), slice(-200, None))
    )
    assert early < -0.2, early
    assert late > 0.8, late  # a twentieth of the actions is still random

    # Where ball and paddle are one step apart, one action wins and another one loses. With t
    # moves left, a won game is worth GAMMA ** (t - 1).
    states = Catch(
        row=jnp.arange(ROWS - 1), ball=jnp.full(ROWS - 1, 2), paddle=jnp.full(ROWS - 1, 2)
    )
    q = NETWORK.apply(runner.train.params, jax.vmap(observe)(states)).max(axis=-1)
    worth = GAMMA ** np.arange(ROWS - 2, -1, -1.0)
    np.testing.assert_allclose(q, worth, atol=0.25)
