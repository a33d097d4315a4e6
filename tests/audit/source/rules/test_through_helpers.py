"""Mistakes that are spread over functions, and what is right when it is written in the same way."""

import pytest

from .reading import found

PROGRAMS = {
    "a state that is dropped where a function returns what an optimiser gives": (
        "DF106",
        """
        import optax

        TX = optax.adam(0.1)

        def descend(grads, state, w):
            return TX.update(grads, state, w)

        def step(w, state, grads):
            updates, new_state = descend(grads, state, w)
            return optax.apply_updates(w, updates), state
        """,
        [6],
    ),
    "a state that is kept where a function returns what an optimiser gives": (
        "DF106",
        """
        import optax

        TX = optax.adam(0.1)

        def descend(grads, state, w):
            return TX.update(grads, state, w)

        def step(w, state, grads):
            updates, state = descend(grads, state, w)
            return optax.apply_updates(w, updates), state
        """,
        [],
    ),
    "results that are swapped behind a function which hands them on": (
        "DF119",
        """
        def heads(params, x):
            mean = x @ params["mean"]
            value = x @ params["value"]
            both = (mean, value)
            return both

        def apply(params, x):
            return heads(params, x)

        def act(params, x):
            value, mean = apply(params, x)
            return jnp.tanh(mean), value
        """,
        [11],
    ),
    "results that are swapped twice": (
        "DF119",
        """
        def heads(params, x):
            mean = x @ params["mean"]
            value = x @ params["value"]
            return mean, value

        def apply(params, x):
            mean, value = heads(params, x)
            return value, mean

        def act(params, x):
            value, mean = apply(params, x)
            return jnp.tanh(mean), value
        """,
        [],
    ),
    "an array that is donated by a function which hands it on": (
        "JT106",
        """
        @functools.partial(jax.jit, donate_argnums=0)
        def step(w, g):
            return w - 0.1 * g

        def descend(weights, g):
            return step(weights, g)

        def run(w, g):
            w = w + 0.0
            new = descend(w, g)
            return new, jnp.linalg.norm(new - w)
        """,
        [11],
    ),
    "a copy that is donated by a function which makes it": (
        "JT106",
        """
        @functools.partial(jax.jit, donate_argnums=0)
        def step(w, g):
            return w - 0.1 * g

        def descend(weights, g):
            weights = jnp.copy(weights)
            return step(weights, g)

        def run(w, g):
            w = w + 0.0
            new = descend(w, g)
            return new, jnp.linalg.norm(new - w)
        """,
        [],
    ),
    "an error that a function below never raises": (
        "JT107",
        """
        def ratio(total, count):
            return total / count

        @jax.jit
        def f(total, count):
            try:
                return ratio(total, count)
            except ZeroDivisionError:
                return total
        """,
        [8],
    ),
    "an error of a division before it is waited for": (
        "JT107",
        """
        def ratio(total, count):
            return total / count

        @jax.jit
        def f(total, count, table, name):
            mean = ratio(total, count)
            try:
                return table[name] * mean
            except ZeroDivisionError:
                return total
        """,
        [],
    ),
    "leaves that a function hands on, by each other's names": (
        "PT102",
        """
        def parts(params):
            return jax.tree.leaves(params)

        def f(x):
            params = {"scale": jnp.ones(3), "offset": jnp.zeros(3)}
            scale, offset = parts(params)
            return scale * x + offset
        """,
        [6],
    ),
    "a state that a function chooses, and what was seen before": (
        "EN009",
        """
        def reset(key):
            state = jax.random.uniform(key, (2,))
            return jnp.sin(state), state

        def choose(done, fresh, state):
            return jnp.where(done, fresh, state)

        def step(key, state, action):
            state = state + action
            obs, done = jnp.sin(state), jnp.abs(state).max() > 2.0
            fresh_obs, fresh = reset(key)
            state = choose(done, fresh, state)
            out = (obs, state, done)
            return out
        """,
        [13],
    ),
    "a state that a function chooses, and what is seen of it": (
        "EN009",
        """
        def reset(key):
            state = jax.random.uniform(key, (2,))
            return jnp.sin(state), state

        def choose(done, fresh, state):
            return jnp.where(done, fresh, state)

        def step(key, state, action):
            state = state + action
            done = jnp.abs(state).max() > 2.0
            fresh_obs, fresh = reset(key)
            state = choose(done, fresh, state)
            obs = jnp.sin(state)
            out = (obs, state, done)
            return out
        """,
        [],
    ),
    "the probability of another action, asked for by a function": (
        "EN019",
        """
        from jax.scipy.stats import norm

        def likelihood(mean, std):
            return norm.logpdf(mean, mean, std)

        def act(key, mean, std):
            action = mean + std * jax.random.normal(key, mean.shape)
            log_prob = likelihood(mean, std)
            return action, log_prob
        """,
        [4],
    ),
    "the probability of the action, asked for by a function": (
        "EN019",
        """
        from jax.scipy.stats import norm

        def likelihood(action, mean, std):
            return norm.logpdf(action, mean, std)

        def act(key, mean, std):
            action = mean + std * jax.random.normal(key, mean.shape)
            log_prob = likelihood(action, mean, std)
            return action, log_prob
        """,
        [],
    ),
    "a record of what came after, made where it is returned": (
        "EN010",
        """
        class Transition(NamedTuple):
            obs: jax.Array
            action: jax.Array
            next_obs: jax.Array

        def run(w, obs):
            def step(obs, _):
                action = jnp.tanh(obs @ w)
                seen = obs + 0.1 * action
                return seen, Transition(seen, action, seen)

            return jax.lax.scan(step, obs, None, length=4)
        """,
        [10],
    ),
    "a record of what was acted on, made where it is returned": (
        "EN010",
        """
        class Transition(NamedTuple):
            obs: jax.Array
            action: jax.Array
            next_obs: jax.Array

        def run(w, obs):
            def step(obs, _):
                action = jnp.tanh(obs @ w)
                seen = obs + 0.1 * action
                return seen, Transition(obs, action, seen)

            return jax.lax.scan(step, obs, None, length=4)
        """,
        [],
    ),
    "a ring that only a loop writes": (
        "EN013",
        """
        class Buffer(NamedTuple):
            data: jax.Array
            head: jax.Array
            filled: jax.Array

        def run(buffer, rows):
            def add(buffer, row):
                data = buffer.data.at[buffer.head].set(row)
                filled = jnp.minimum(buffer.filled + 1, data.shape[0])
                return Buffer(data, buffer.head + 1, filled), None

            return jax.lax.scan(add, buffer, rows)[0]
        """,
        [10],
    ),
    "a ring that only a loop writes, and that goes round": (
        "EN013",
        """
        class Buffer(NamedTuple):
            data: jax.Array
            head: jax.Array
            filled: jax.Array

        def run(buffer, rows):
            def add(buffer, row):
                data = buffer.data.at[buffer.head].set(row)
                filled = jnp.minimum(buffer.filled + 1, data.shape[0])
                return Buffer(data, (buffer.head + 1) % data.shape[0], filled), None

            return jax.lax.scan(add, buffer, rows)[0]
        """,
        [],
    ),
}

_RING = """
class Buffer(NamedTuple):
    obs: jax.Array
    act: jax.Array
    head: jax.Array
    filled: jax.Array

def run(buffer, obs, act, key):
    def add(buffer, obs, act):
        size = buffer.obs.shape[0]
        stored, done = buffer.obs.at[buffer.head].set(obs), buffer.act.at[buffer.head].set(act)
        filled = jnp.minimum(buffer.filled + 1, size)
        return Buffer(stored, done, (buffer.head + 1) % size, filled)

    def draw(buffer, key):
        rows = jax.random.randint(key, (2,), 0, LIMIT)
        return buffer.obs[rows], buffer.act[rows]

    return draw(add(buffer, obs, act), key)
"""


@pytest.mark.parametrize("case", PROGRAMS)
def test_other_functions_are_looked_through(case: str):
    code, program, lines = PROGRAMS[case]
    assert found(code, program) == lines


@pytest.mark.parametrize(("limit", "lines"), [("buffer.obs.shape[0]", [15]), ("buffer.filled", [])])
def test_rows_are_drawn_from_what_was_just_written(limit: str, lines: list[int]):
    assert found("EN014", _RING.replace("LIMIT", limit)) == lines
