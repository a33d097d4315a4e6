"""Parts of a state where an episode ends: logs, frames, counts, what is searched for."""

from .claims import check_claims, each_of

PROGRAMS = {
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
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims(program, "env")
