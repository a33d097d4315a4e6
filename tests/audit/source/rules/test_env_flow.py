"""Rollouts and what is learned from them; comments say what is to be found on their lines."""

import pytest

from .claims import claimed_and_found

PROGRAMS = {
    "a target from a tuple, with and without its flag": """
        def loss(q, batch, gamma):
            obs, action, reward, next_obs, terminal = batch
            following = q(next_obs).max(axis=-1)
            return reward + gamma * following - q(obs)  # EN005

        def masked(q, batch, gamma):
            obs, action, reward, next_obs, terminal = batch
            following = q(next_obs).max(axis=-1)
            return reward + gamma * (1 - terminal) * following - q(obs)
        """,
    "discounts that are the same for all steps": """
        def returns(rewards, dones, values, gamma):
            discounts = jnp.full_like(rewards, gamma)  # EN005
            return rewards + discounts * values

        def cut(rewards, dones, values, gamma):
            discounts = jnp.full_like(rewards, gamma) * (1.0 - dones)
            return rewards + discounts * values
        """,
    "a recursion in Python that leaves its discounts aside": """
        def back(reward, discount, total, n, gamma):
            for i in reversed(range(n)):
                total = reward[i] + gamma * total  # EN005
            return total

        def well(reward, discount, total, n, gamma):
            for i in reversed(range(n)):
                total = reward[i] + gamma * discount[i] * total
            return total
        """,
    "values that are shifted and those that are not": """
        def deltas(reward, keep, values, last):
            following = jnp.concatenate([values[:-1], last[None]])
            return reward + 0.99 * keep * following - values  # EN007

        def shifted(reward, keep, values, last):
            following = jnp.concatenate([values[1:], last[None]])
            return reward + 0.99 * keep * following - values
        """,
    "the flag of the step before": """
        def gae(rollout, last, steps, gamma):
            total, following, out = 0.0, last, []
            for t in range(steps - 1, -1, -1):
                mask = 1.0 - rollout["dones"][t - 1]  # EN011
                delta = rollout["rewards"][t] + gamma * mask * following - rollout["values"][t]
                total = delta + gamma * 0.95 * mask * total
                following = rollout["values"][t]
                out.append(total)
            return out[::-1]

        def of_the_next_observation(rewards, dones, values, last_done, steps, gamma):
            for t in reversed(range(steps)):
                mask = 1.0 - (last_done if t == steps - 1 else dones[t + 1])
                yield rewards[t] + gamma * mask * values[t + 1] - values[t]
        """,
    "rewards that come with what was reached": """
        def returns(reward, value, cont, lam):
            disc = 0.99 * cont[1:]
            early = reward[1:] + (1 - lam) * disc * value[:-1]  # EN011
            return early, reward[1:] + (1 - lam) * disc * value[1:]
        """,
    "the memory of a module that linen scans": """
        import flax.linen as nn

        class Cell(nn.Module):
            @nn.compact
            def __call__(self, memory, x):
                features, resets = x
                return nn.GRUCell(8)(memory, features)  # EN002

        class Careful(nn.Module):
            @nn.compact
            def __call__(self, memory, x):
                features, resets = x
                memory = jnp.where(resets[:, None], 0.0, memory)
                return nn.GRUCell(8)(memory, features)

        class Policy(nn.Module):
            cell: type

            @nn.compact
            def __call__(self, memory, obs, resets):
                scan = partial_scan(Cell)()
                memory, first = scan(memory, (obs, resets))
                memory, second = partial_scan(Careful)()(memory, (obs, resets))
                return memory, first + second

        def partial_scan(cell):
            return nn.scan(cell, variable_broadcast="params", split_rngs={"params": False})
        """,
    "a network that gets the flags with its memory": """
        def rollout(network, env, params, hidden, obs, state, n):
            def step(carry, _):
                hidden, obs, last_done, state = carry
                hidden, action = network.apply(params, hidden, (obs[None], last_done[None]))
                obs, state, reward, done = env.step(state, action)
                return (hidden, obs, done, state), (obs, reward, done)

            start = jnp.zeros(8, bool)
            carry, rolled = lax.scan(step, (hidden, obs, start, state), None, length=n)
            hidden, obs, _, state = carry
            return hidden, obs, state, rolled

        def train(network, env, params, hidden, obs, state, n, turns):
            def turn(carry, _):
                hidden, obs, state = carry
                *carry, rolled = rollout(network, env, params, hidden, obs, state, n)
                seen, rewards, dones = rolled
                return tuple(carry), (rewards, dones)

            return lax.scan(turn, (hidden, obs, state), None, length=turns)

        def without(network, env, params, hidden, obs, state, n):
            def step(carry, _):
                hidden, obs, state = carry
                hidden, action = network.apply(params, hidden, obs)  # EN002
                obs, state, reward, done = env.step(state, action)
                return (hidden, obs, state), (obs, reward, done)

            return lax.scan(step, (hidden, obs, state), None, length=n)
        """,
    "parts of a state that are forgotten at its end": """
        from typing import NamedTuple

        class World(NamedTuple):
            place: jax.Array
            speed: jax.Array
            clock: jax.Array
            goal: jax.Array
            key: jax.Array

        def spawn(key):
            return World(jnp.zeros(2), jnp.zeros(2), jnp.int32(0), jnp.ones(2), key)

        def moved(world, action):
            speed = world.speed + action
            return World(world.place + speed, speed, world.clock + 1, world.goal, world.key)

        def step(world, action, limit):
            new = moved(world, action)
            done = (new.clock >= limit) | (jnp.abs(new.place).max() > 3.0)
            fresh = spawn(new.key)
            return World(
                place=jnp.where(done, fresh.place, new.place),
                speed=jnp.where(done, fresh.speed, new.speed),
                clock=new.clock,  # EN012
                goal=new.goal,
                key=new.key,
            ), done

        def well(world, action, limit):
            new = moved(world, action)
            done = (new.clock >= limit) | (jnp.abs(new.place).max() > 3.0)
            fresh = spawn(new.key)
            return World(
                place=jnp.where(done, fresh.place, new.place),
                speed=jnp.where(done, fresh.speed, new.speed),
                clock=jnp.where(done, fresh.clock, new.clock),
                goal=new.goal,
                key=new.key,
            ), done
        """,
    "returns and lengths that are logged": """
        from typing import NamedTuple

        class Log(NamedTuple):
            running: jax.Array
            length: jax.Array
            total: jax.Array
            timestep: jax.Array

        def log(state, reward, done):
            return Log(
                state.running + reward,  # EN012
                (state.length + 1) * (1 - done),
                state.total + reward,
                state.timestep + 1,
            )

        def counted(state, reward, done):
            return Log(
                (state.running + reward) * (1 - done),
                state.length + 1,  # EN012
                state.total + reward,
                state.timestep + 1,
            )
        """,
    "frames that are stacked": """
        class Left:
            def step(self, state, action):
                obs, inner, reward, done = self.env.step(state["inner"], action)
                frames = jnp.concatenate([state["frames"][1:], obs[None]])
                return frames, {"inner": inner, "frames": frames}, reward, done

        class Counted:
            def step(self, state, action):
                obs, inner, reward, done = self.env.step(state["inner"], action)
                frames = jnp.concatenate([state["frames"][1:], obs[None]])  # EN002
                steps = jnp.where(done, 0, state["steps"] + 1)
                return {"inner": inner, "frames": frames, "steps": steps}, reward, done

        class Restarted:
            def step(self, key, state, action):
                obs, inner, reward, done = self.env.step(state["inner"], action)
                frames = jnp.concatenate([state["frames"][1:], obs[None]])  # EN002
                inner = jnp.where(done, self.reset(key), inner)
                return {"inner": inner, "frames": frames}, reward, done

            def reset(self, key):
                return jax.random.uniform(key, (4,))

        class Filled:
            def step(self, state, action):
                obs, inner, reward, done = self.env.step(state["inner"], action)
                frames = jnp.concatenate([state["frames"][1:], obs[None]])
                frames = jnp.where(done, jnp.repeat(obs[None], 4, axis=0), frames)
                return frames, {"inner": inner, "frames": frames}, reward, done
        """,
    "a record of which a reset replaces a part": """
        from flax import struct

        @struct.dataclass
        class State:
            physics: jax.Array
            obs: jax.Array
            done: jax.Array

        def step(env, state, action, first_physics):
            state = env.step(state, action)
            physics = jnp.where(state.done, env.reset_state["first"], state.physics)
            return state.replace(physics=physics)  # EN009

        def both(env, state, action):
            state = env.step(state, action)
            physics = jnp.where(state.done, env.reset_state["first"], state.physics)
            obs = jnp.where(state.done, env.reset_state["first_obs"], state.obs)
            return state.replace(physics=physics, obs=obs)
        """,
    "buffers that go round, and that do not": """
        def add(buffer, row, capacity):
            return {
                "rows": buffer["rows"].at[buffer["next"]].set(row),
                "next": buffer["next"] + 1,  # EN013
                "stored": jnp.minimum(buffer["stored"] + 1, capacity),
            }

        def turned_when_used(buffer, row, capacity):
            return {
                "rows": buffer["rows"].at[buffer["next"] % capacity].set(row),
                "next": buffer["next"] + 1,
                "stored": jnp.minimum(buffer["stored"] + 1, capacity),
            }

        def cache(memory, row):
            return {"rows": memory["rows"].at[memory["at"]].set(row), "at": memory["at"] + 1}
        """,
    "a buffer whose position stays": """
        from typing import NamedTuple

        class Store(NamedTuple):
            obs: jax.Array
            act: jax.Array
            cursor: jax.Array
            count: jax.Array

        def push(store, obs, act):
            size = store.obs.shape[0]
            return store._replace(
                obs=store.obs.at[store.cursor].set(obs),
                act=store.act.at[store.cursor].set(act),
                count=jnp.minimum(store.count + 1, size),  # EN013
            )

        def sample(store, key, n):
            rows = jax.random.choice(key, store.obs.shape[0], (n,))  # EN014
            return store.obs[rows], store.act[rows]

        def weighted(store, key, n):
            weights = jnp.arange(store.obs.shape[0]) < store.count
            rows = jax.random.choice(key, store.obs.shape[0], (n,), p=weights)
            return store.obs[rows], store.act[rows]
        """,
    "an action for one observation and its value at another": """
        def target(policy, critic, batch, gamma):
            obs, action, reward, next_obs, done = batch
            chosen = policy(obs)  # EN007
            return reward + gamma * (1 - done) * critic(next_obs, chosen)

        def well(policy, critic, batch, gamma):
            obs, action, reward, next_obs, done = batch
            chosen = policy(next_obs)
            return reward + gamma * (1 - done) * critic(next_obs, chosen)

        def remembering(network, batch, gamma):
            obs, action, reward, next_obs, done = batch
            hidden = network.memory(obs)
            return reward + gamma * (1 - done) * network.value(next_obs, hidden)
        """,
    "the value after a rollout": """
        def advantages(network, rollout, step, state, obs, n, gamma):
            def act(carry, _):
                state, obs = carry
                state, following, reward = step(state, obs)
                return (state, following), (obs, network(obs), reward)

            (state, final), (seen, values, rewards) = lax.scan(act, (state, obs), None, n)

            def back(carry, x):
                total, ahead = carry
                value, reward = x
                total = reward + gamma * ahead - value + 0.95 * total
                return (total, value), total

            last = network(seen[-1])  # EN015
            start = (jnp.zeros_like(last), last)
            wrong = lax.scan(back, start, (values, rewards), reverse=True)[1]
            last = network(final)
            start = (jnp.zeros_like(last), last)
            return wrong, lax.scan(back, start, (values, rewards), reverse=True)[1]

        def with_one_more(network, obs, rewards, gamma):
            values = network(obs[:-1])
            following = jnp.concatenate([values[1:], network(obs[-1])[None]])
            return rewards + gamma * following - values
        """,
    "what is written into a buffer after a reset": """
        def push(store, obs, action, next_obs):
            at = store["head"]
            return {
                "obs": store["obs"].at[at].set(obs),
                "action": store["action"].at[at].set(action),
                "next_obs": store["next_obs"].at[at].set(next_obs),
                "head": (at + 1) % 100,
            }

        def act(env, policy, store, obs):
            action = policy(obs)
            next_obs, done = env.step(action)
            store = push(store, obs, action, next_obs)
            obs = jnp.where(done, env.reset(), next_obs)
            return store, obs

        def late(env, policy, store, obs):
            action = policy(obs)
            next_obs, done = env.step(action)
            obs = jnp.where(done, env.reset(), next_obs)
            store = push(store, obs, action, next_obs)  # EN010
            return store, obs
        """,
    "flags that loops hand out, and sums that go by the name of one": """
        def finished_by(step, state, xs):
            def body(carry, x):
                state, finished = carry
                state, done = step(state, x)
                finished = finished | done
                return (state, finished), finished

            (state, _), flags = lax.scan(body, (state, jnp.array(False)), xs)
            return state, flags

        def advantages(transitions, last_value):
            def back(carry, t):
                active, next_value = carry
                delta = t.reward + 0.99 * next_value * (1.0 - t.done) - t.value
                active = delta + 0.9 * (1.0 - t.done) * active
                return (active, t.value), active

            start = (jnp.zeros_like(last_value), last_value)
            return lax.scan(back, start, transitions, reverse=True)[1]
        """,
    "masks that loops carry": """
        def evaluate(env, policy, state, n):
            def turn(i, carry):
                state, score, alive = carry
                state = env.step(state, policy(state.obs))
                score = score + state.reward
                alive = alive & ~state.done  # EN016
                return state, score, alive

            start = (state, jnp.zeros(8), jnp.ones(8, bool))
            return lax.fori_loop(0, n, turn, start)[1]

        def counted(env, policy, state, n):
            def turn(carry, _):
                state, score, alive = carry
                state = env.step(state, policy(state.obs))
                score = score + jnp.where(alive, state.reward, 0.0)
                alive = alive & ~state.done
                return (state, score, alive), None

            start = (state, jnp.zeros(8), jnp.ones(8, bool))
            return lax.scan(turn, start, None, n)[0][1]

        def asked_afterwards(env, state, n):
            def turn(carry, _):
                state, alive = carry
                state = env.step(state)
                return (state, alive & ~state.done), state.reward

            (state, alive), rewards = lax.scan(turn, (state, jnp.ones(8, bool)), None, n)
            return rewards.sum(), alive
        """,
    "time that is up": """
        def target(critic, batch, gamma):
            obs, action, reward, next_obs, terminated, truncated = batch
            keep = 1.0 - (terminated | truncated)  # EN017
            return reward + gamma * keep * critic(next_obs)

        def well(critic, batch, gamma):
            obs, action, reward, next_obs, terminated, truncated = batch
            return reward + gamma * (1.0 - terminated) * critic(next_obs)
        """,
    "a count of steps that starts anew": """
        def advance(env, state, action):
            steps = state.info["steps"]
            steps = jnp.where(state.done, jnp.zeros_like(steps), steps)
            return env.advance(state, action), steps + 1

        class Counted:
            def reset(self, key):
                return self.env.reset(key)

            def first(self, key, action):
                return advance(self.env, self.reset(key), action)

            def turned(self, key, state, action):
                state = self.env.advance(state, action)
                start = self.reset(key)
                return jnp.where(state.done, state.position, start.position)  # EN008
        """,
    "ratios of probabilities": """
        def surrogate(policy, batch, advantage, clip):
            new = policy.log_prob(batch["action"])
            same = jnp.exp(new - stop_gradient(new))  # EN018
            turned = jnp.exp(batch["old_log_prob"] - new)  # EN018
            right = jnp.exp(new - batch["old_log_prob"])
            return [
                bounded(same, advantage, clip),
                jnp.minimum(1.0, turned) * advantage,
                bounded(right, advantage, clip),
            ]

        def bounded(ratio, advantage, clip):
            return jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)

        def divergence(policy, batch):
            new = policy.log_prob(batch["action"])
            difference = batch["old_log_prob"] - new
            return jnp.exp(difference) - difference - 1.0

        def answered(network, params, obs, log_prob, advantage, clip):
            def loss(params, log_prob_then):
                answer = jax.vmap(lambda it: network.apply(params, it, network.actor))(obs)
                return bounded(jnp.exp(answer.log_prob - log_prob_then), advantage, clip)

            return jax.grad(loss)(params, log_prob)

        def surrogate_for_gradients(policy, batch, advantage):
            new = policy.log_prob(batch["action"])
            return jnp.exp(new - stop_gradient(new)) * advantage
        """,
    "probabilities of actions": """
        def collect(policy, obs, key):
            pi = policy(obs)
            action = pi.sample(seed=key)
            log_prob = pi.log_prob(pi.mode())  # EN019
            return action, log_prob

        def squashed(mean, key):
            raw = mean + jax.random.normal(key, mean.shape)
            action = jnp.tanh(raw)
            log_prob = jax.scipy.stats.norm.logpdf(raw, mean, 1.0).sum()
            return action, log_prob

        def cloned(policy, batch, key):
            pi = policy(batch.obs)
            action = pi.sample(seed=key)
            log_prob = pi.log_prob(batch.action)
            return action, log_prob
        """,
    "a scanned discount that a recursion leaves aside": """
        def returns(reward, value, cont, lam):
            disc = 0.99 * cont[1:]
            inputs = reward[1:] + (1 - lam) * disc * value[1:]

            def back(total, x):
                now, d = x
                total = now + 0.99 * lam * total  # EN002
                return total, total

            def well(total, x):
                now, d = x
                total = now + d * lam * total
                return total, total

            wrong = lax.scan(back, value[-1], (inputs, disc), reverse=True)[1]
            return wrong, lax.scan(well, value[-1], (inputs, disc), reverse=True)[1]
        """,
    "rows that are shuffled": """
        def apart(key, data):
            obs, action, advantage = data
            first, second = jax.random.split(key)
            n = obs.shape[0]
            one = jnp.take(obs, jax.random.permutation(first, n), axis=0)
            two = action[jax.random.permutation(second, n)]
            batch = {"obs": one, "action": two}  # EN020
            return batch

        def with_one_order(key, data):
            obs, action, advantage = data
            order = jax.random.permutation(key, obs.shape[0])
            batch = {"obs": obs[order], "action": jnp.take(action, order, axis=0)}
            return batch

        def of_two_buffers(key, expert, learner):
            first, second = jax.random.split(key)
            one = expert.obs[jax.random.permutation(first, 64)]
            two = learner.obs[jax.random.permutation(second, 64)]
            batch = (one, two)
            return batch
        """,
    "things of a state that each have their own order": """
        from flax import struct

        @struct.dataclass
        class World:
            discs: jax.Array
            springs: jax.Array
            reward: jax.Array

        def permuted(key, world, sizes):
            first, second = jax.random.split(key)
            discs = jax.random.permutation(first, jnp.arange(sizes.discs))
            springs = jax.random.permutation(second, jnp.arange(sizes.springs))
            pair = (world.discs[discs], world.springs[springs])
            return pair, World(*pair, world.reward)

        def as_many(key, world, n):
            first, second = jax.random.split(key)
            discs = jax.random.permutation(first, n)
            springs = jax.random.permutation(second, n)
            new = World(world.discs[discs], world.springs[springs], world.reward)
            return new

        def of_steps(key, world, n):
            first, second = jax.random.split(key)
            discs = jax.random.permutation(first, n)
            order = jax.random.permutation(second, n)
            new = World(world.discs[discs], world.springs, world.reward[order])  # EN020
            return new
        """,
    "a search that starts anew": """
        from typing import NamedTuple

        class Search(NamedTuple):
            step: jax.Array
            pairs: jax.Array
            anchor: jax.Array

        def advance(search, slope):
            must_reset = slope > 0.0
            is_first = search.step == 0
            pairs = jnp.where(must_reset, 0.0, search.pairs + slope)
            anchor = search.anchor + slope
            new = Search(search.step + 1, pairs, anchor)
            begun = jnp.where(is_first, slope, new.pairs)
            return Search(new.step, jnp.where(must_reset, 0.0, begun), new.anchor)
        """,
    "returns by a loop that starts from the last observation": """
        def returns(network, step, state, obs, n, gamma):
            def act(carry, _):
                state, obs = carry
                state, following, reward, terminal = step(state, obs)
                return (state, following), (obs, reward, terminal)

            (state, final), (obs, rewards, terms) = lax.scan(act, (state, obs), None, n)
            wrong = network(obs[-1])  # EN015
            right = network(final)
            for t in range(n - 1, -1, -1):
                wrong = rewards[t] + gamma * (1 - terms[t]) * wrong
                right = rewards[t] + gamma * (1 - terms[t]) * right
            return wrong, right
        """,
    "a tree of arrays that is written in a circle": """
        def push(store, rows, capacity):
            at = store["cursor"]
            return {
                "rows": jax.tree.map(lambda old, new: old.at[at].set(new), store["rows"], rows),
                "cursor": at + 1,  # EN013
                "count": jnp.minimum(store["count"] + 1, capacity),
            }
        """,
    "rows that are flattened": """
        def batch_of(rollout):
            obs = rollout.obs.reshape(-1, 4)
            action = rollout.action.reshape(-1)
            value = rollout.value.swapaxes(0, 1).reshape(-1)  # EN020
            batch = (obs, action, value)
            return batch

        def all_alike(rollout):
            obs = jnp.swapaxes(rollout.obs, 0, 1).reshape(-1, 4)
            action = jnp.swapaxes(rollout.action, 0, 1).reshape(-1)
            value = rollout.value.swapaxes(0, 1).reshape(-1)
            batch = (obs, action, value)
            return batch
        """,
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs_have_what_they_claim(case: str):
    claimed, found = claimed_and_found(PROGRAMS[case], "env")
    assert found == claimed
