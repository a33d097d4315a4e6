"""Twin delayed deep deterministic policy gradients on a reaching task, in flax nnx."""

from typing import NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

OBS, ACTIONS, ENVS = 3, 3, 4
SPEED, NEAR, HORIZON = 0.25, 0.2, 25
GAMMA, TAU, POLICY_DELAY, BATCH, CAPACITY = 0.95, 0.02, 2, 128, 4096
EXPLORATION, SMOOTHING, NOISE_CLIP = 0.2, 0.2, 0.5
TX = optax.adam(1e-3)


class Transition(NamedTuple):
    obs: jax.Array
    action: jax.Array
    reward: jax.Array
    next_obs: jax.Array
    terminated: jax.Array


class Env(NamedTuple):
    position: jax.Array
    t: jax.Array


class Actor(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, hidden: int = 48):
        self.first = nnx.Linear(OBS, hidden, rngs=rngs)
        self.second = nnx.Linear(hidden, hidden, rngs=rngs)
        self.out = nnx.Linear(hidden, ACTIONS, rngs=rngs)

    def __call__(self, obs):
        x = nnx.relu(self.first(obs))
        x = nnx.relu(self.second(x))
        return jnp.tanh(self.out(x))


class Critic(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, hidden: int = 48):
        self.first = nnx.Linear(OBS + ACTIONS, hidden, rngs=rngs)
        self.second = nnx.Linear(hidden, hidden, rngs=rngs)
        self.out = nnx.Linear(hidden, 1, rngs=rngs)

    def __call__(self, obs, action):
        x = nnx.relu(self.first(jnp.concatenate([obs, action], axis=-1)))
        x = nnx.relu(self.second(x))
        return self.out(x)[..., 0]


class TwinCritic(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.one = Critic(rngs)
        self.two = Critic(rngs)

    def __call__(self, obs, action):
        return self.one(obs, action), self.two(obs, action)


ACTOR = nnx.graphdef(nnx.eval_shape(lambda: Actor(nnx.Rngs(0))))
CRITIC = nnx.graphdef(nnx.eval_shape(lambda: TwinCritic(nnx.Rngs(0))))


@flax.struct.dataclass
class Agent:
    actor: nnx.State
    critic: nnx.State
    target_actor: nnx.State
    target_critic: nnx.State
    actor_opt: optax.OptState
    critic_opt: optax.OptState
    steps: jax.Array


def reset(key):
    return Env(jax.random.uniform(key, (OBS,), minval=-1.0, maxval=1.0), jnp.int32(0))


def step(key, env, action):
    """Every step costs one, until all coordinates are near zero."""
    position = jnp.clip(env.position + SPEED * action, -1.5, 1.5)
    terminated = jnp.abs(position).max() < NEAR
    moved = Env(position, env.t + 1)
    over = terminated | (moved.t >= HORIZON)
    env = jax.tree.map(lambda a, b: jnp.where(over, a, b), reset(key), moved)
    return env, position, -1.0, terminated


def critic_loss(critic, agent, batch, key):
    noise = SMOOTHING * jax.random.normal(key, batch.action.shape)
    noise = jnp.clip(noise, -NOISE_CLIP, NOISE_CLIP)
    next_action = nnx.merge(ACTOR, agent.target_actor)(batch.next_obs)
    next_action = jnp.clip(next_action + noise, -1.0, 1.0)
    next_q = jnp.minimum(*nnx.merge(CRITIC, agent.target_critic)(batch.next_obs, next_action))
    target = batch.reward + GAMMA * jnp.where(batch.terminated, 0.0, next_q)
    one, two = nnx.merge(CRITIC, critic)(batch.obs, batch.action)
    return jnp.square(one - target).mean() + jnp.square(two - target).mean()


def actor_loss(actor, critic, batch):
    action = nnx.merge(ACTOR, actor)(batch.obs)
    q, _ = nnx.merge(CRITIC, critic)(batch.obs, action)
    return -q.mean()


def update_actor(agent, batch):
    grads = jax.grad(actor_loss)(agent.actor, agent.critic, batch)
    updates, actor_opt = TX.update(grads, agent.actor_opt, agent.actor)
    actor = optax.apply_updates(agent.actor, updates)
    return agent.replace(
        actor=actor,
        actor_opt=actor_opt,
        target_actor=optax.incremental_update(actor, agent.target_actor, TAU),
        target_critic=optax.incremental_update(agent.critic, agent.target_critic, TAU),
    )


def update(agent, batch, key):
    loss, grads = jax.value_and_grad(critic_loss)(agent.critic, agent, batch, key)
    updates, critic_opt = TX.update(grads, agent.critic_opt, agent.critic)
    agent = agent.replace(
        critic=optax.apply_updates(agent.critic, updates),
        critic_opt=critic_opt,
        steps=agent.steps + 1,
    )
    agent = jax.lax.cond(
        agent.steps % POLICY_DELAY == 0, lambda a: update_actor(a, batch), lambda a: a, agent
    )
    return agent, loss


def explore(agent, env, key):
    noise_key, step_key = jax.random.split(key)
    action = nnx.merge(ACTOR, agent.actor)(env.position)
    action = action + EXPLORATION * jax.random.normal(noise_key, action.shape)
    action = jnp.clip(action, -1.0, 1.0)
    keys = jax.random.split(step_key, ENVS)
    next_env, next_obs, reward, terminated = jax.vmap(step)(keys, env, action)
    return next_env, Transition(env.position, action, reward, next_obs, terminated)


def store(buffer, transitions, count):
    start = (count * ENVS) % CAPACITY
    return jax.tree.map(
        lambda all, new: jax.lax.dynamic_update_slice_in_dim(all, new, start, axis=0),
        buffer,
        transitions,
    )


@jax.jit
def entry(agent, buffer, env, key):
    explore_key, sample_key, update_key = jax.random.split(key, 3)
    env, transitions = explore(agent, env, explore_key)
    buffer = store(buffer, transitions, agent.steps)
    filled = jnp.minimum((agent.steps + 1) * ENVS, CAPACITY)
    indices = jax.random.randint(sample_key, (BATCH,), 0, filled)
    batch = jax.tree.map(lambda x: x[indices], buffer)
    agent, loss = update(agent, batch, update_key)
    return agent, buffer, env, (loss, transitions.terminated)


def inputs():
    rngs = nnx.Rngs(0)
    actor, critic = nnx.state(Actor(rngs)), nnx.state(TwinCritic(rngs))
    agent = Agent(
        actor, critic, actor, critic, TX.init(actor), TX.init(critic), jnp.zeros((), jnp.int32)
    )
    env = jax.vmap(reset)(jax.random.split(jax.random.key(1), ENVS))
    zeros = jnp.zeros(CAPACITY)
    buffer = Transition(
        jnp.zeros((CAPACITY, OBS)),
        jnp.zeros((CAPACITY, ACTIONS)),
        zeros,
        jnp.zeros((CAPACITY, OBS)),
        zeros.astype(bool),
    )
    return agent, buffer, env, jax.random.key(2)


AXES = {"env": Env(position="env dim", t="env")}


def train(steps):
    agent, buffer, env, key = inputs()

    def body(carry, key):
        *carry, metrics = entry(*carry, key)
        return tuple(carry), metrics

    scan = jax.jit(lambda *carry: jax.lax.scan(body, carry, jax.random.split(key, steps)))
    (agent, *_), metrics = scan(agent, buffer, env)
    return agent, metrics


def steps_needed(actor, position):
    def body(carry, _):
        position, going, count = carry
        position = position + SPEED * actor(position)
        count += going
        return (position, going & (jnp.abs(position).max() >= NEAR), count), None

    init = (position, jnp.bool_(True), jnp.int32(0))
    return jax.lax.scan(body, init, None, HORIZON)[0][2]


def check():
    starts = np.random.default_rng(0).uniform(-1.0, 1.0, (200, OBS)).astype(np.float32)
    # The farthest coordinate decides, and no policy is faster than at full speed.
    fewest = np.maximum(np.ceil((np.abs(starts).max(axis=1) - NEAR) / SPEED), 1)

    def evaluate(agent):
        actor = nnx.merge(ACTOR, agent.actor)
        return np.asarray(jax.vmap(lambda x: steps_needed(actor, x))(starts))

    before = evaluate(inputs()[0])
    agent, _ = train(3000)
    after = evaluate(agent)
    assert (after >= fewest).all()
    assert before.mean() > 4 * fewest.mean(), before.mean()
    assert after.mean() < 1.25 * fewest.mean(), (after.mean(), fewest.mean())

    # Its value is the discounted number of steps that are left.
    near = jnp.full((1, OBS), 0.35)
    q, _ = nnx.merge(CRITIC, agent.critic)(near, -jnp.ones((1, ACTIONS)))
    np.testing.assert_allclose(q, -1.0, atol=0.3)
