"""Flags for the end of an episode that come out of calls, and are handed to others."""

import textwrap

from .claims import check_claims, each_of

PROGRAMS = {
    "one flag for all that a helper is given": """
        def pick(flag, new, old):
            return jax.tree.map(lambda a, b: jnp.where(flag, a, b), new, old)

        def joined(env, key, states, actions):
            states, obs, reward, done = jax.vmap(env.step)(states, actions)
            again, first = jax.vmap(env.reset)(jax.random.split(key, 5))
            states = pick(jnp.any(done), again, states)  # EN001
            return states, jnp.where(done[:, None], first, obs), reward, done

        def largest(env, key, states, actions):
            states, obs, reward, done = jax.vmap(env.step)(states, actions)
            again, first = jax.vmap(env.reset)(jax.random.split(key, 5))
            over = done.max()
            states = lax.cond(over, lambda: again, lambda: states)  # EN001
            return states, jnp.where(done[:, None], first, obs), reward, done

        def asked(env, keys, states, actions):
            states, ts = jax.vmap(env.step)(states, actions)
            return lax.cond(  # EN001
                ts.last().any(), lambda: jax.vmap(env.reset)(keys), lambda: (states, ts)
            )

        def of_one_team(env, key, state, actions):
            state, obs, reward, done = env.step(state, actions)
            again, first = env.reset(key)
            over = jnp.any(done)
            return pick(over, again, state), pick(over, first, obs), reward, done

        def once_all(env, key, states, actions):
            states, obs, reward, done = jax.vmap(env.step)(states, actions)
            again, first = jax.vmap(env.reset)(jax.random.split(key, 5))
            over = jnp.all(done)
            return pick(over, again, states), pick(over, first, obs), reward, done

        def each(env, key, states, actions):
            states, obs, reward, done = jax.vmap(env.step)(states, actions)
            again, first = jax.vmap(env.reset)(jax.random.split(key, 5))
            flag = done[:, None]
            return pick(flag, again, states), pick(flag, first, obs), reward, done
        """,
    "flags that a helper gives the axes of what it chooses from": """
        class World(NamedTuple):
            place: jax.Array
            clock: jax.Array

        def pick(flag, new, old):
            shaped = lambda like: flag.reshape(flag.shape + (1,) * (like.ndim - flag.ndim))
            return jax.tree.map(lambda a, b: jnp.where(shaped(a), a, b), new, old)

        def begin(key):
            return World(jax.random.uniform(key, (5,)), jnp.zeros(5, int))

        def together(key, world, push):
            world = World(world.place + push, world.clock + 1)
            done = (jnp.abs(world.place) > 1.0) | (world.clock > 9)
            return pick(done.any(), begin(key), world), done  # EN001

        def each(key, world, push):
            world = World(world.place + push, world.clock + 1)
            done = (jnp.abs(world.place) > 1.0) | (world.clock > 9)
            return pick(done, begin(key), world), done
        """,
    "a memory that is cleared for all": """
        def cleared(flag, memory):
            return jax.tree.map(lambda it: jnp.where(flag, jnp.zeros_like(it), it), memory)

        def chosen(weights, memory, seen):
            obs, over = seen
            memory = cleared(jnp.any(over, axis=0), memory)  # EN001
            memory = jnp.tanh(obs @ weights["in"] + memory @ weights["own"])
            return memory, memory.sum(-1)

        def scaled(weights, memory, seen):
            obs, over = seen
            memory = memory * (1.0 - jnp.max(over))  # EN001
            memory = jnp.tanh(obs @ weights["in"] + memory @ weights["own"])
            return memory, memory.sum(-1)

        def each(weights, memory, seen):
            obs, over = seen
            memory = cleared(over[:, None], memory)
            memory = jnp.tanh(obs @ weights["in"] + memory @ weights["own"])
            return memory, memory.sum(-1)

        def entry(weights, obs, done):
            start = jnp.zeros((3, 5))
            bodies = [functools.partial(it, weights) for it in (chosen, scaled, each)]
            return [lax.scan(body, start, (obs, done)) for body in bodies]

        def inputs():
            weights = {"in": jnp.zeros((4, 5)), "own": jnp.zeros((5, 5))}
            return weights, jnp.zeros((6, 3, 4)), jnp.zeros((6, 3), bool)
        """,
    "what a cell of a library remembers": """
        import equinox as eqx
        import flax.linen as nn
        from flax import nnx

        class Core(nn.Module):
            width: int

            @functools.partial(nn.scan, variable_broadcast="params", split_rngs={"params": False})
            @nn.compact
            def __call__(self, memory, seen):
                features, is_first = seen
                features = jnp.concatenate([features, is_first[:, None]], axis=-1)
                return nn.GRUCell(self.width)(memory, features)  # EN002

        class Cleared(nn.Module):
            width: int

            @functools.partial(nn.scan, variable_broadcast="params", split_rngs={"params": False})
            @nn.compact
            def __call__(self, memory, seen):
                features, is_first = seen
                memory = jnp.where(is_first[:, None], jnp.zeros_like(memory), memory)
                return nn.GRUCell(self.width)(memory, features)

        class Net(nn.Module):
            @nn.compact
            def __call__(self, memory, obs, is_first):
                memory, seen = Core(8)(memory, (nn.Dense(8)(obs), is_first))
                return Cleared(8)(memory, (seen, is_first))

        class Half(eqx.Module):
            cell: eqx.nn.LSTMCell

            def tick(self, state, row):
                hidden, cell = self.cell(row.seen, state)
                return (hidden * (1.0 - row.ended), cell), hidden  # EN002

            def __call__(self, log):
                start = (jnp.zeros(4), jnp.zeros(4))
                return lax.scan(lambda state, row: self.tick(state, row), start, log)

        class Whole(eqx.Module):
            cell: eqx.nn.LSTMCell

            def tick(self, state, row):
                state = self.cell(row.seen, state)
                return jax.tree.map(lambda it: it * (1.0 - row.ended), state), state[0]

            def __call__(self, log):
                start = (jnp.zeros(4), jnp.zeros(4))
                return lax.scan(lambda state, row: self.tick(state, row), start, log)

        class Padded(nnx.Module):
            def __init__(self, rngs):
                self.cell = nnx.GRUCell(4, 8, rngs=rngs)

            def __call__(self, memory, seen, valid):
                def step(memory, row):
                    new, out = self.cell(memory, row[0])
                    return jnp.where(row[1][:, None], new, memory), out

                return lax.scan(step, memory, (seen, valid))
        """,
    "two parts of one memory, of which one is cleared": """
        def cell(weights, state, seen):
            mixed = jnp.tanh(seen @ weights["in"] + state["out"] @ weights["own"])
            gate = jax.nn.sigmoid(seen @ weights["gate"] + state["out"] @ weights["ahead"])
            kept = gate * state["kept"] + (1.0 - gate) * mixed
            return {"kept": kept, "out": gate * jnp.tanh(kept)}

        def half(weights, start, seen, finished):
            def step(state, row):
                new = cell(weights, state, row[0])
                out = new["out"] * (1.0 - row[1][:, None])
                return {"kept": new["kept"], "out": out}, out  # EN002

            return lax.scan(step, start, (seen, finished))

        def whole(weights, start, seen, finished):
            def step(state, row):
                new = cell(weights, state, row[0])
                new = {name: it * (1.0 - row[1][:, None]) for name, it in new.items()}
                return new, new["out"]

            return lax.scan(step, start, (seen, finished))
        """,
    "recursions whose turns know of ends by other names": """
        def marked(steps, last, gamma, lam):
            def back(carry, it):
                gae, ahead = carry
                delta = it["reward"] + gamma * (1.0 - it["over"]) * ahead - it["value"]
                gae = delta + gamma * lam * gae  # EN002
                return (gae, it["value"]), gae

            return lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)

        def discounted(steps, last, lam):
            def back(carry, it):
                gae, ahead = carry
                gae = it.reward + it.discount * ahead - it.value + 0.99 * lam * gae  # EN002
                return (gae, it.value), gae

            return lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)

        def flipped(rewards, values, dones, gamma, lam):
            errors = rewards + gamma * values[1:] * (1.0 - dones) - values[:-1]

            def forwards(gae, error):
                gae = error + gamma * lam * gae  # EN002
                return gae, gae

            return lax.scan(forwards, jnp.zeros(4), errors[::-1])[1][::-1]

        def by_another(steps, last, lam):
            def back(carry, it):
                gae, ahead = carry
                delta = it.reward + it.discount * ahead - it.value
                gae = delta + it.trace * lam * gae
                return (gae, it.value), gae

            return lax.scan(back, (jnp.zeros_like(last), last), steps, reverse=True)

        def smoothed(signal, start):
            def back(level, it):
                level = 0.9 * level + it[0]
                return level, level * (1.0 - it[1])

            return lax.scan(back, jnp.zeros(4), (signal, start), reverse=True)
        """,
    "a loop of Python's that collects in a list": """
        def numbered(weights, memory, obs, done):
            values = []
            for t in range(obs.shape[0]):
                memory = jnp.tanh(obs[t] @ weights["in"] + memory @ weights["own"])  # EN002
                values.append(jnp.where(done[t], 0.0, memory.sum(-1)))
            return jnp.stack(values)

        def side_by_side(weights, memory, obs, done):
            values = []
            for seen, over in zip(obs, done):
                memory = jnp.tanh(seen @ weights["in"] + memory @ weights["own"])  # EN002
                values.append(jnp.where(over, 0.0, memory.sum(-1)))
            return jnp.stack(values)

        def cleared(weights, memory, obs, done):
            values = []
            for seen, over in zip(obs, done):
                memory = jnp.where(over[:, None], 0.0, memory)
                memory = jnp.tanh(seen @ weights["in"] + memory @ weights["own"])
                values.append(memory.sum(-1))
            return jnp.stack(values)
        """,
    "one flag for all, of a number of flags": """
        def blended(key, place, push):
            place = place + push
            gone = jnp.linalg.norm(place, axis=-1) > 1.0
            kept = 1.0 - jnp.clip(gone.sum(), 0, 1)
            return jax.random.normal(key, place.shape) * (1.0 - kept) + place * kept, gone  # EN001

        def switched(key, place, push):
            place = place + push
            crashed = jnp.abs(place).max(-1) > 2.0
            ways = [lambda: place, lambda: jax.random.uniform(key, place.shape)]
            return lax.switch(crashed.any().astype(jnp.int32), ways), crashed  # EN001

        def while_all_go_on(key, place, push):
            place = place + push
            gone = jnp.linalg.norm(place, axis=-1) > 1.0
            kept = jnp.logical_not(gone).all()
            fresh = jax.random.uniform(key, place.shape)
            return lax.select(jnp.broadcast_to(kept, place.shape), place, fresh), gone  # EN001

        def once_none_goes_on(key, place, push):
            place = place + push
            gone = jnp.linalg.norm(place, axis=-1) > 1.0
            fresh = jax.random.uniform(key, place.shape)
            return jnp.where(jnp.any(~gone), place, fresh), gone

        def each(key, place, push):
            place = place + push
            crashed = jnp.abs(place).max(-1) > 2.0
            fresh = jax.random.uniform(key, place.shape)
            return jnp.where(crashed[:, None], fresh, place), jnp.clip(crashed.sum(), 0, 1)

        def entry(key, place, push):
            ways = (blended, switched, while_all_go_on, once_none_goes_on, each)
            return [it(key, place, push) for it in ways]

        def inputs():
            return jax.random.key(0), jnp.zeros((3, 2)), jnp.ones((3, 2))
        """,
    "a while loop back through what was recorded": """
        def crossing(rewards, values, dones, gamma, lam):
            def body(state):
                t, gae, out = state
                delta = rewards[t] + gamma * values[t + 1] * (1 - dones[t]) - values[t]
                gae = delta + gamma * lam * gae  # EN002
                return t - 1, gae, out.at[t].set(gae)

            start = (rewards.shape[0] - 1, jnp.zeros_like(rewards[0]), jnp.zeros_like(rewards))
            return lax.while_loop(lambda state: state[0] >= 0, body, start)

        def ending(rewards, values, dones, gamma, lam):
            def body(state):
                t, gae, out = state
                alive = 1 - dones[t]
                delta = rewards[t] + gamma * values[t + 1] * alive - values[t]
                gae = delta + gamma * lam * alive * gae
                return t - 1, gae, out.at[t].set(gae)

            start = (rewards.shape[0] - 1, jnp.zeros_like(rewards[0]), jnp.zeros_like(rewards))
            return lax.while_loop(lambda state: state[0] >= 0, body, start)
        """,
    "a linear memory and a window that are read by weights": """
        def linear(decay, weights, seen, start):
            def step(memory, row):
                memory = decay * memory + row[0] @ weights["in"]  # EN002
                return memory, jnp.where(row[1][:, None], 0.0, memory @ weights["out"])

            return lax.scan(step, jnp.zeros((3, 8)), (seen, start))

        def rolled(weights, seen, dones):
            def step(window, row):
                window = jnp.roll(window, -1, axis=1).at[:, -1].set(row[0])  # EN002
                return window, (window.reshape(3, -1) @ weights["out"]) * (1 - row[1])[:, None]

            return lax.scan(step, jnp.zeros((3, 4, 8)), (seen, dones))

        def attended(weights, seen, dones):
            def step(cache, row):
                new = row[0] @ weights["in"]
                cache = jnp.concatenate([cache[:, 1:], new[:, None]], axis=1)  # EN002
                return cache, cache.mean(axis=1) * (1 - row[1])[:, None]

            return lax.scan(step, jnp.zeros((3, 4, 8)), (seen, dones))

        def emptied(weights, seen, dones):
            def step(window, row):
                window = jnp.where(row[1][:, None, None], 0.0, window)
                window = jnp.roll(window, -1, axis=1).at[:, -1].set(row[0])
                return window, window.reshape(3, -1) @ weights["out"]

            return lax.scan(step, jnp.zeros((3, 4, 8)), (seen, dones))

        def counted(rewards, dones):
            def step(last, row):
                last = jnp.concatenate([last[1:], row[0].mean()[None]])
                return last, last.mean() * (1 - row[1])

            return lax.scan(step, jnp.zeros(10), (rewards, dones))

        def entry(decay, weights, seen, start):
            return linear(decay, weights, seen, start)

        def inputs():
            weights = {"in": jnp.ones((8, 8)), "out": jnp.ones((8, 8))}
            return jnp.ones(8), weights, jnp.ones((5, 3, 8)), jnp.zeros((5, 3), bool)
        """,
}


@each_of(PROGRAMS)
def test_flags_that_are_handed_on(program: str):
    check_claims("from typing import NamedTuple\n\n" + textwrap.dedent(program), "env")
