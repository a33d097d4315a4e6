"""Loops, as they are written in programs of other shapes than the rules' examples."""

from functools import partial

import pytest

from .reading import found_of

found = partial(found_of, "scan")


CHANGED = {
    "a leaf is dropped": (
        """
        def step(carry, x):
            total, count = carry
            return total + x, None

        def f(xs):
            return lax.scan(step, (jnp.zeros(3), 0), xs)
        """,
        "SC201",
        3,
    ),
    "a list for a tuple": (
        """
        def f(x, n):
            def body(i, carry):
                a, b = carry
                return [a + 1, b * 2]

            return lax.fori_loop(0, n, body, (x, jnp.ones(2)))
        """,
        "SC201",
        4,
    ),
    "a key of a dict is lost": (
        """
        class Filter:
            def step(self, state, x):
                return {"mean": state["mean"] + x}, None

            def run(self, xs):
                return lax.scan(self.step, {"mean": jnp.zeros(3), "count": 0}, xs)
        """,
        "SC201",
        3,
    ),
    "the sum of a carry": (
        """
        def f(xs):
            def step(h, x):
                h = jnp.tanh(h)
                return h.sum(axis=0), h

            return lax.scan(step, jnp.zeros((4, 5)), xs)
        """,
        "SC201",
        4,
    ),
    "a carry that grows, by symbols": (
        """
        def f(xs):
            n, d = xs.shape

            def step(history, x):
                return jnp.concatenate([history, jnp.zeros((1, d))]), None

            return lax.scan(step, jnp.zeros((n, d)), xs)
        """,
        "SC201",
        5,
    ),
    "an integer that becomes a float": (
        """
        def f(xs):
            def body(state):
                rate, x = state
                return rate * 0.5, x

            return lax.while_loop(lambda s: s[0] > 1, body, (jnp.zeros((), jnp.int32), xs))
        """,
        "SC201",
        6,
    ),
    "a state handed on by a helper": (
        """
        class State(NamedTuple):
            pos: jax.Array
            vel: jax.Array

        def advance(state, force):
            vel = state.vel + 0.1 * force
            return State(state.pos + 0.1 * vel, vel)

        def simulate(state, forces):
            def step(state, force):
                moved = advance(state, force)
                return state, moved.pos

            return lax.scan(step, state, forces)
        """,
        "SC002",
        12,
    ),
    "a part that a method computes anew, called by a lambda": (
        """
        class Model:
            def step(self, carry, x):
                low, high = carry
                low = jnp.tanh(low + x)
                new_high = jnp.tanh(high + low)
                return (low, high), new_high

            def unroll(self, start, xs):
                return lax.scan(lambda carry, x: self.step(carry, x), (start, start), xs)
        """,
        "SC002",
        6,
    ),
    "a part that is computed anew and not handed on": (
        """
        def momentum(params, grads):
            def step(carry, grad):
                params, velocity = carry
                new_velocity = 0.9 * velocity + grad
                params = params - 0.1 * new_velocity
                return (params, velocity), None

            return lax.scan(step, (params, jnp.zeros_like(params)), grads)
        """,
        "SC002",
        6,
    ),
    "a slice that the body ignores, of several": (
        """
        def f(weights, xs, start):
            def step(h, inputs):
                w, _ = inputs
                return h * w + xs[-1], h

            return lax.scan(step, start, (weights, xs))
        """,
        "SC003",
        4,
    ),
    "a counter of fori_loop": (
        """
        def f(x):
            batch, time, feat = x.shape

            def body(t, total):
                return total + x[:, t]

            return lax.fori_loop(0, batch, body, jnp.zeros((batch, feat)))
        """,
        "SC004",
        7,
    ),
    "a counter of Python's": (
        """
        def f(x):
            total = 0.0
            for t in range(x.shape[0]):
                total = total + x[:, t].sum()
            return total
        """,
        "SC004",
        3,
    ),
    "a scan over numbers": (
        """
        def f(x):
            def step(h, t):
                return h + x[:, t], None

            return lax.scan(step, x[:, 0], jnp.arange(x.shape[0]))
        """,
        "SC004",
        5,
    ),
    "a length that contradicts": (
        """
        def f(start, xs):
            return lax.scan(lambda c, x: (c + x, None), start, xs, length=xs.shape[0] + 1)
        """,
        "SC202",
        2,
    ),
    "no length at all": (
        """
        def f(start):
            return lax.scan(lambda c, _: (c + 1, c), start, None)
        """,
        "SC202",
        2,
    ),
    "a body that returns its carry alone": (
        """
        def step(carry, x):
            return jnp.tanh(carry + x)

        def f(start, xs):
            return lax.scan(step, start, xs)
        """,
        "SC202",
        2,
    ),
    "a body that forgets to return": (
        """
        def step(carry, x):
            carry = carry + x

        def f(start, xs):
            return lax.scan(step, start, xs)
        """,
        "SC202",
        5,
    ),
    "a parameter too many": (
        """
        def step(params, carry, x):
            return carry + params * x, None

        def f(params, start, xs):
            return lax.scan(step, start, xs)
        """,
        "SC203",
        5,
    ),
    "a parameter bound by its name that comes first": (
        """
        def step(params, carry, x):
            return carry + params * x, None

        def f(params, start, xs):
            return lax.scan(partial(step, params=params), start, xs)
        """,
        "SC203",
        5,
    ),
    "a body of while_loop with two parameters": (
        """
        def f(x):
            return lax.while_loop(lambda x: x < 3, lambda i, x: x + 1, x)
        """,
        "SC203",
        2,
    ),
    "a loop that never ends": (
        """
        def f(x):
            def body(state):
                i, x = state
                return i, x * 0.5

            return lax.while_loop(lambda state: state[0] < 10, body, (0, x))
        """,
        "SC002",
        4,
    ),
    "a filter that predicts from its prior, in a function of its own": (
        """
        class Belief(NamedTuple):
            mean: jax.Array
            cov: jax.Array

        def predict(a, belief):
            return Belief(a @ belief.mean, a @ belief.cov @ a.T)

        def run(a, prior: Belief, ys):
            def step(belief, y):
                guess = predict(a, prior)
                new = Belief(guess.mean + y, guess.cov)
                return new, new.mean

            return lax.scan(step, Belief(prior.mean, prior.cov), ys)
        """,
        "SC005",
        10,
    ),
    "a counter that is updated as if it were the carry": (
        """
        def clear(x):
            def body(x, i):
                return x.at[i].set(0.0)

            return lax.fori_loop(0, 3, body, x)
        """,
        "SC203",
        2,
    ),
    "a body of a fori_loop that forgets to return": (
        """
        def clear(x):
            def body(i, x):
                x = x.at[i].set(0.0)

            return lax.fori_loop(0, 3, body, x)
        """,
        "SC201",
        5,
    ),
    "three names for what a scan returns": (
        """
        def total(xs):
            last, sums, rest = lax.scan(lambda c, x: (c + x, c), 0.0, xs)
            return last
        """,
        "SC203",
        2,
    ),
    "a slice of three that is taken apart into four": (
        """
        def attend(q, k, v):
            def step(memory, inputs):
                q_t, k_t, v_t, gate = inputs
                memory = gate * memory + jnp.outer(k_t, v_t)
                return memory, q_t @ memory

            return lax.scan(step, jnp.zeros((3, 3)), (q, k, v))
        """,
        "SC203",
        3,
    ),
    "branches of which one takes less": (
        """
        def move(grid, step):
            return grid + step

        def rest(grid):
            return grid

        ACTIONS = (move, rest)

        def act(action, grid, step):
            return lax.switch(action, ACTIONS, grid, step)
        """,
        "SC203",
        10,
    ),
    "a conditional with two operands, and a branch for three": (
        """
        def f(done, reset, state, key):
            def keep(state, key, time):
                return state

            return lax.cond(done, lambda state, key: reset, keep, state, key)
        """,
        "SC203",
        5,
    ),
    "a long loop that counts down": (
        """
        @jax.jit
        def denoise(x):
            for t in reversed(range(1000)):
                x = x - 0.01 * x / (t + 1)
            return x
        """,
        "SC302",
        3,
    ),
    "a model that always starts at the start": (
        """
        class Model:
            def roll(self, start, actions):
                def step(state, action):
                    nxt = self.a * start + action
                    return nxt, nxt

                return lax.scan(step, start, actions)
        """,
        "SC005",
        4,
    ),
    "a decayed count": (
        """
        def f(hits):
            def body(i, count):
                return (count / 2 + 1).astype(jnp.int32)

            start = jnp.zeros(4, dtype=jnp.int32)
            return lax.fori_loop(0, 9, body, start)
        """,
        "SC301",
        5,
    ),
    "many turns of a jitted method": (
        """
        class Solver:
            @partial(jax.jit, static_argnums=0)
            def solve(self, x):
                for _ in range(50):
                    x = x - 0.1 * jnp.sin(x)
                return x
        """,
        "SC302",
        4,
    ),
}


@pytest.mark.parametrize("case", CHANGED)
def test_what_is_wrong_with_a_loop_is_found(case: str):
    program, code, line = CHANGED[case]
    assert found(program) == [(code, line)]
