"""Environments and episodes, in programs of other shapes than the rules' examples."""

from functools import partial

import pytest

from .reading import found_of

found = partial(found_of, "env")


WRONG = {
    "a tree that is replaced where any is done": (
        """
        def step(state, action, reset_state):
            state = state + action
            done = jnp.abs(state).max(axis=-1) > 2.0
            must_reset = done.any()
            return jax.tree.map(lambda r, s: jnp.where(must_reset, r, s), reset_state, state)
        """,
        "EN001",
        5,
    ),
    "branches that are functions": (
        """
        def initial(n):
            return jnp.zeros((n, 2))

        class Env:
            def step(self, pos, action):
                pos = pos + action
                finished = jnp.linalg.norm(pos, axis=-1) > self.limit
                return lax.cond(jnp.any(finished), lambda p: initial(4), lambda p: p, pos)
        """,
        "EN001",
        8,
    ),
    "advantages by a method": (
        """
        class Learner:
            def gae(self, rewards, values, dones, last):
                def body(carry, step):
                    advantage, next_value = carry
                    reward, value, done = step
                    mask = 1.0 - done
                    delta = reward + self.gamma * next_value * mask - value
                    advantage = delta + self.gamma * self.lam * advantage
                    return (advantage, value), advantage

                start = (jnp.zeros_like(last), last)
                return lax.scan(body, start, (rewards, values, dones), reverse=True)[1]
        """,
        "EN002",
        8,
    ),
    "a cell that nobody knows": (
        """
        def unroll(cell, hidden, traj):
            def step(h, tr):
                h, out = cell(h, tr.obs)
                return h, jnp.where(tr.done, 0.0, out)

            return lax.scan(step, hidden, traj)
        """,
        "EN002",
        4,
    ),
    "a gate on the wrong part": (
        """
        def unroll(params, hidden, obs, resets):
            def step(h, inputs):
                x, reset = inputs
                x = jnp.where(reset[:, None], 0.0, x)
                h = jnp.tanh(x + h @ params)
                return h, h

            return lax.scan(step, hidden, (obs, resets))
        """,
        "EN002",
        5,
    ),
    "advantages from the first step on": (
        """
        def gae(traj, last_value):
            next_values = jnp.concatenate([traj.value[1:], last_value[None]])
            deltas = traj.reward + 0.99 * (1 - traj.done) * next_values - traj.value

            def body(advantage, inputs):
                delta, done = inputs
                advantage = delta + 0.95 * (1 - done) * advantage
                return advantage, advantage

            return lax.scan(body, jnp.zeros_like(last_value), (deltas, traj.done))[1]
        """,
        "EN003",
        10,
    ),
    "a memory that an environment's flags do not reach": (
        """
        def rollout(env, policy, start, n):
            def step(carry, _):
                state, obs, hidden, done = carry
                hidden, action = policy(hidden, obs)
                state, obs, reward, done = env(state, action)
                return (state, obs, hidden, done), reward

            return lax.scan(step, start, None, length=n)

        def run(env, policy, state, obs, hidden):
            return rollout(env, policy, (state, obs, hidden, False), 10)
        """,
        "EN002",
        6,
    ),
    "a target that looks beyond the end": (
        """
        def target(critic, obs, fresh, reward, gamma):
            done = jnp.abs(obs).max(axis=-1) > 2.0
            next_obs = jnp.where(done[:, None], fresh, obs)
            value = critic(next_obs)
            return reward + gamma * value
        """,
        "EN004",
        5,
    ),
    "a record whose flag has no part in the target": (
        """
        class Step(NamedTuple):
            reward: jax.Array
            after: jax.Array
            terminal: jax.Array

        class Learner:
            def errors(self, params, steps: Step, values):
                ahead = lax.stop_gradient(steps.after @ params)
                target = steps.reward + self.config.gamma * ahead
                return target - values, jnp.mean(steps.terminal)
        """,
        "EN005",
        9,
    ),
    "a flag for its opposite": (
        """
        def targets(batch, ahead, gamma):
            return batch["reward"] + gamma * batch["done"].astype(jnp.float32) * ahead
        """,
        "EN006",
        2,
    ),
    "a body that uses its own value twice": (
        """
        def gae(rewards, values, dones, last, gamma=0.99):
            def body(carry, step):
                total, ahead = carry
                reward, value, done = step
                delta = reward + gamma * value * (1 - done) - value
                total = delta + gamma * 0.95 * (1 - done) * total
                return (total, value), total

            xs = (rewards, values, dones)
            return lax.scan(body, (jnp.zeros_like(last), last), xs, reverse=True)[1]
        """,
        "EN007",
        5,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_with_episodes_is_found(case: str):
    program, code, line = WRONG[case]
    assert found(program) == [(code, line)]


WRONG |= {
    "an estimate that is not masked beside a recursion that is": (
        """
        class Step(NamedTuple):
            reward: jax.Array
            done: jax.Array
            value: jax.Array

        def gae(steps: Step, last):
            def back(carry, t):
                total, following = carry
                delta = t.reward + 0.99 * following - t.value
                total = delta + 0.95 * (1.0 - t.done) * total
                return (total, t.value), total

            return lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)[1]

        def entry(reward, done, value, last):
            adv = gae(Step(reward, done, value), last)
            return (adv - adv.mean()) / (adv.std() + 1e-6)
        """,
        "EN005",
        9,
    ),
    "a discount that keeps what has ended": (
        """
        class Agent:
            gamma = 0.9

            def discount(self, batch):
                return self.gamma * batch.done.astype(jnp.float32)

            def target(self, w, batch):
                return batch.reward + self.discount(batch) * (batch.next_obs @ w)
        """,
        "EN006",
        5,
    ),
    "flags that a recursion is given for nothing": (
        """
        def sums(deltas, dones, last):
            def back(total, inp):
                delta, end = inp
                total = delta + 0.9 * total
                return total, total

            return lax.scan(back, last, (deltas, dones), reverse=True)[1]
        """,
        "EN002",
        4,
    ),
    "a return that goes on, in a function": (
        """
        def scale(ret, reward):
            return reward + 0.99 * ret

        def rollout(env, state, ret, n):
            def step(carry, _):
                state, ret = carry
                state, reward, done = env(state)
                ret = scale(ret, reward)
                return (state, ret), (reward, done)

            return lax.scan(step, (state, ret), None, length=n)
        """,
        "EN002",
        2,
    ),
}

RESETTING = """
        class Env:
            def reset(self, key):
                pos = jax.random.uniform(key, (2,))
                return jnp.tanh(pos), {"pos": pos, "t": jnp.zeros(())}

            def advance(self, state, action):
                pos = state["pos"] + action
                return jnp.tanh(pos), {"pos": pos, "t": state["t"] + 1}, jnp.abs(pos).max() > 1

        class Wrapped:
            def __init__(self):
                self.env = Env()

            def step(self, key, state, action):
                obs, state, done = self.env.advance(state, action)
                new_obs, new = self.env.reset(key)
"""
WRONG |= {
    "a reset unless it is over": (
        RESETTING
        + """
                state = jax.tree.map(lambda n, s: jnp.where(done, s, n), new, state)
                return jnp.tanh(state["pos"]), state, done
        """,
        "EN008",
        18,
    ),
    "an observation from before": (
        RESETTING
        + """
                state = jax.tree.map(lambda n, s: jnp.where(done, n, s), new, state)
                return obs, state, done
        """,
        "EN009",
        19,
    ),
}

COLLECTING = """
        class Step(NamedTuple):
            observation: jax.Array
            action: jax.Array
            next_observation: jax.Array

        class Runner:
            def __init__(self, env, policy):
                self.env, self.policy = env, policy

            def collect(self, state, obs):
                act = self.policy(obs)
                state, new = self.env(state, act)
"""
WRONG |= {
    "a record of what came after": (
        COLLECTING
        + """
                record = Step(new, act, new)
                return state, new, record
        """,
        "EN010",
        14,
    ),
}

FINE = {
    "a record of what came before": COLLECTING
    + """
                record = Step(obs, act, new)
                return state, new, record
        """,
    "an observation that is chosen": RESETTING
    + """
                state = jax.tree.map(lambda n, s: jnp.where(done, n, s), new, state)
                return jnp.where(done, new_obs, obs), state, done
        """,
    "an observation of what was chosen": RESETTING
    + """
                state = jax.tree.map(lambda n, s: jnp.where(done, n, s), new, state)
                obs = jnp.tanh(state["pos"])
                return obs, state, done
        """,
    "the last observation beside the next": RESETTING
    + """
                state = jax.tree.map(lambda n, s: jnp.where(done, n, s), new, state)
                return obs, state, done, jnp.tanh(state["pos"])
        """,
    "flags that made a factor": """
        def sums(deltas, discounts, dones, last):
            def back(total, inp):
                delta, discount, end = inp
                total = delta + discount * total
                return total, total

            return lax.scan(back, last, (deltas, discounts, dones), reverse=True)[1]
        """,
    "a return that is told": """
        def rollout(env, state, ret, n):
            def step(carry, _):
                state, ret = carry
                state, reward, done = env(state)
                ret = reward + 0.99 * ret * (1.0 - done)
                return (state, ret), (reward, done)

            return lax.scan(step, (state, ret), None, length=n)
        """,
    "a memory that is told": """
        def rollout(env, policy, state, obs, hidden, n):
            def step(carry, _):
                state, obs, hidden, done = carry
                hidden, action = policy(hidden, (obs, done))
                state, obs, reward, done = env(state, action)
                return (state, obs, hidden, done), reward

            return lax.scan(step, (state, obs, hidden, False), None, length=n)
        """,
    "each its own flag": """
        def step(state, action, fresh):
            state = state + action
            done = jnp.abs(state).max(axis=-1) > 2.0
            return jnp.where(done[:, None], fresh, state), jnp.any(done)
        """,
    "a choice in each lane": """
        def step(pos, fresh, action):
            pos = pos + action
            done = jnp.abs(pos) > 2.0
            return lax.cond(jnp.any(done), lambda: fresh, lambda: pos)

        batched = jax.vmap(step)
        """,
    "work that is only done if any needs it": """
        def step(state, done, fresh):
            def reset(state):
                return jnp.where(done[:, None], fresh, state)

            return lax.cond(jnp.any(done), reset, lambda state: state, state)
        """,
    "any along one axis": """
        def step(state, fresh):
            done = jnp.any(jnp.abs(state) > 2.0, axis=-1)
            return jnp.where(done[:, None], fresh, state)
        """,
    "advantages that stop": """
        def gae(rewards, values, dones, last):
            def body(carry, step):
                advantage, next_value = carry
                reward, value, done = step
                delta = reward + 0.99 * next_value * (1 - done) - value
                advantage = delta + 0.99 * 0.95 * (1 - done) * advantage
                return (advantage, value), advantage

            start = (jnp.zeros_like(last), last)
            return lax.scan(body, start, (rewards, values, dones), reverse=True)[1]
        """,
    "a cell that is told": """
        def unroll(cell, hidden, obs, done):
            def step(h, inputs):
                h, out = cell(h, inputs)
                return h, out

            return lax.scan(step, hidden, (obs, done))
        """,
    "a state that is reset first": """
        def unroll(params, hidden, obs, dones):
            def step(h, inputs):
                x, done = inputs
                h = jnp.where(done[:, None], jnp.zeros_like(h), h)
                h = jnp.tanh(x + h @ params)
                return h, h

            return lax.scan(step, hidden, (obs, dones))
        """,
    "statistics that outlive an episode": """
        def normalise(mean, obs, dones):
            def step(mean, inputs):
                x, done = inputs
                mean = mean + 0.01 * (x - mean)
                return mean, jnp.where(done, 0.0, x - mean)

            return lax.scan(step, mean, (obs, dones))
        """,
    "training on batches with flags": """
        def train(params, batches):
            def step(params, batch):
                def loss(params):
                    return jnp.mean((1 - batch.done) * (batch.obs @ params - batch.reward) ** 2)

                return params - 0.1 * jax.grad(loss)(params), None

            return lax.scan(step, params, batches)
        """,
    "turned round beforehand": """
        def returns(rewards, values, dones):
            def body(total, step):
                reward, value, done = step
                total = reward + 0.99 * (1 - done) * total
                return total, total - value

            flipped = jax.tree.map(lambda x: jnp.flip(x, 0), (rewards, values, dones))
            return lax.scan(body, jnp.zeros(3), flipped)[1]
        """,
    "a target that stops": """
        def target(critic, obs, fresh, reward, gamma):
            done = jnp.abs(obs).max(axis=-1) > 2.0
            next_obs = jnp.where(done[:, None], fresh, obs)
            return reward + gamma * (1 - done) * critic(next_obs), next_obs
        """,
    "deltas that flags have entered already": """
        def advantages(rewards, values, dones, ahead):
            def body(total, step):
                delta, cut = step
                total = delta + 0.9 * (1.0 - cut) * total
                return total, total

            deltas = rewards + 0.99 * (1.0 - dones) * ahead - values
            return lax.scan(body, jnp.zeros(3), (deltas, dones), reverse=True)[1]

        def entry(seed):
            return advantages(jnp.ones((4, 3)), seed, jnp.zeros((4, 3)), 2.0 * seed)

        def inputs():
            return (jnp.ones((4, 3)),)
        """,
    "flags that depend on the memory themselves": """
        def play(params, obs):
            def body(carry, _):
                obs, hidden = carry
                hidden = jnp.tanh(obs @ params["in"] + hidden @ params["own"])
                obs = obs + hidden @ params["out"]
                done = jnp.abs(obs).max(axis=-1) > 1.0
                hidden = jnp.where(done[:, None], 0.0, hidden)
                return (jnp.where(done[:, None], 0.0, obs), hidden), obs

            return lax.scan(body, (obs, jnp.zeros((3, 8))), None, length=9)
        """,
    "records with flags that come in somewhere": """
        class Step(NamedTuple):
            reward: jax.Array
            discount: jax.Array
            after: jax.Array
            terminal: jax.Array

        def chosen(steps: Step, ahead):
            return jnp.where(steps.terminal, steps.reward, steps.reward + 0.99 * ahead)

        def masked(steps: Step, ahead, values):
            error = steps.reward + 0.99 * ahead - values
            return jnp.mean((1.0 - steps.terminal) * error**2)

        def with_discounts(steps: Step, ahead):
            return steps.reward + steps.discount * ahead

        def helped(steps: Step, ahead):
            going_on = 1.0 - steps.terminal.astype(jnp.float32)
            return steps.reward + 0.99 * going_on * ahead
        """,
    "flags that say that an episode goes on": """
        def targets(reward, not_done, ahead, gamma):
            return reward + gamma * not_done * ahead

        def padded(rewards, values, last, dones):
            extended = jnp.concatenate([values, last[None]])
            return rewards + 0.99 * (1.0 - dones) * extended[1:] - extended[:-1]
        """,
    "parameters that follow others, from batches of rewards and values": """
        def train(state, batches, learn):
            def body(carry, batch):
                slow_params, fast = carry
                fast = learn(fast, batch.reward, batch.value)
                slow_params = fast * 0.01 + slow_params * 0.99
                return (slow_params, fast), None

            return lax.scan(body, state, batches)
        """,
}


@pytest.mark.parametrize("case", FINE)
def test_episodes_that_end_are_not_reported(case: str):
    assert found(FINE[case]) == []


@pytest.mark.parametrize(("observation", "lines"), [("obs", [12]), ("next_obs", [])])
@pytest.mark.parametrize("batch", ["batch: Transition", "batch"])
def test_an_estimate_for_the_observation_before_the_reward(
    observation: str, lines: list[int], batch: str
):
    program = f"""
    from typing import NamedTuple

    class Transition(NamedTuple):
        obs: jax.Array
        action: jax.Array
        reward: jax.Array
        done: jax.Array
        next_obs: jax.Array

    def loss(critic, params, old, {batch}, gamma=0.99):
        q = critic(params, batch.obs, batch.action)
        value = critic(old, batch.{observation}, batch.action).max(axis=-1)
        target = batch.reward + gamma * (1.0 - batch.done) * value
        return jnp.mean((q - lax.stop_gradient(target)) ** 2)
    """
    assert found(program) == [("EN007", line) for line in lines]


@pytest.mark.parametrize(("stored", "lines"), [("ts.last_obs", []), ("next_obs", [12])])
def test_an_observation_of_a_state_that_was_replaced_in_part(stored: str, lines: list[int]):
    program = f"""
    class Transition(NamedTuple):
        obs: jax.Array
        action: jax.Array
        next_obs: jax.Array

    class Trainer:
        def collect(self, ts):
            action = self.policy(ts.last_obs)
            next_obs, env_state = self.env_step(ts.env_state, action)
            if self.normalises:
                ts = ts.replace(statistics=self.updated(ts.statistics, next_obs))
            seen = Transition(obs={stored}, action=action, next_obs=next_obs)
            return ts.replace(last_obs=next_obs, env_state=env_state), seen
    """
    assert found(program) == [("EN010", line) for line in lines]


def test_a_state_that_holds_a_transition_is_at_the_next_observation():
    program = """
    from flax import struct

    class Transition(NamedTuple):
        obs: jax.Array
        action: jax.Array
        next_obs: jax.Array

    @struct.dataclass
    class Learner:
        last: Transition
        obs: jax.Array

    def collect(learner, weights):
        action = jnp.argmax(weights @ learner.obs)
        new = learner.obs * 0.9 + 0.1 * action
        last = Transition(learner.obs, action, new)
        learner = learner.replace(last=last, obs=new)
        return learner

    def run(weights):
        first = Transition(jnp.zeros(3), jnp.zeros(()), jnp.zeros(3))
        return collect(Learner(first, jnp.ones(3)), weights)
    """
    assert found(program) == []
