"""Buffers of what was seen, and their order; comments say what is to be found on their lines."""

from .claims import check_claims, each_of

PROGRAMS = {
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

        def of_which_one_is_not_followed(rollout, rearrange):
            obs = rearrange(rollout.obs, "t e d -> e t d").reshape(-1, 4)
            action = rearrange(rollout.action, "t e -> e t").reshape(-1)
            value = rollout.value.swapaxes(0, 1).reshape(-1)
            batch = (obs, action, value)
            return batch
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims(program, "env")
