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
}


@each_of(PROGRAMS)
def test_flags_that_are_handed_on(program: str):
    check_claims("from typing import NamedTuple\n\n" + textwrap.dedent(program), "env")
