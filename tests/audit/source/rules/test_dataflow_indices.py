"""Counters that go past the end of what they index."""

import pytest

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "sums of all that came before, without room for the last": """
        def prefix(xs):
            n = xs.shape[0]

            def body(i, out):
                return out.at[i + 1].set(out[i] + xs[i])  # DF203

            return lax.fori_loop(0, n, body, jnp.zeros(n))
        """,
    "the value after the last": """
        def errors(values, rewards):
            def step(_, t):
                return None, rewards[t] + values[t + 1] - values[t]  # DF203

            return lax.scan(step, None, jnp.arange(values.shape[0]))[1]
        """,
    "a counter in a carry": """
        def slopes(heights):
            def step(state, _):
                i, total = state
                return (i + 1, total + heights[i + 2] - heights[i]), None  # DF203

            return lax.scan(step, (0, 0.0), None, length=heights.shape[0] - 1)[0]
        """,
    "neighbours in each lane, of columns": """
        def ahead(grid):
            rows, columns = grid.shape
            return jax.vmap(lambda j: grid[:, j + 1] - grid[:, j])(jnp.arange(columns))  # DF203
        """,
    "a loop of Python's over a known size": """
        def differences():
            points = jnp.linspace(0.0, 1.0, 8)
            return [points[i + 1] - points[i] for i in range(8)]  # DF203
        """,
}

RIGHT = {
    "room for one more": """
        def prefix(xs):
            n = xs.shape[0]

            def body(i, out):
                return out.at[i + 1].set(out[i] + xs[i])

            return lax.fori_loop(0, n, body, jnp.zeros(n + 1))
        """,
    "an end that is one earlier": """
        def errors(values, rewards):
            def step(_, t):
                return None, rewards[t] + values[t + 1] - values[t]

            return lax.scan(step, None, jnp.arange(values.shape[0] - 1))[1]
        """,
    "a choice that drops what is outside": """
        def errors(values, is_last):
            def step(_, t):
                return None, jnp.where(is_last[t], 0.0, values[t + 1]) - values[t]

            return lax.scan(step, None, jnp.arange(values.shape[0]))[1]
        """,
    "a counter that is compared": """
        def errors(values):
            last = values.shape[0] - 1

            def step(_, t):
                more = (t < last).astype(jnp.float32)
                return None, more * values[t + 1] - values[t]

            return lax.scan(step, None, jnp.arange(values.shape[0]))[1]
        """,
    "a mode that says what is meant": """
        def ahead(xs):
            get = lambda i: xs.at[i + 1].get(mode="fill", fill_value=0.0)
            put = lambda i, it: it.at[i + 1].set(xs[i], mode="drop")
            made = lax.fori_loop(0, xs.shape[0], put, jnp.zeros(xs.shape[0]))
            return jax.vmap(get)(jnp.arange(xs.shape[0])), made
        """,
    "around a ring": """
        def ahead(xs):
            n = xs.shape[0]
            return jax.vmap(lambda i: xs[(i + 1) % n] - xs[i - 1])(jnp.arange(n))
        """,
    "sizes of two arrays that nothing relates": """
        def errors(values, rewards):
            def step(_, t):
                return None, rewards[t] + values[t + 1] - values[t]

            return lax.scan(step, None, jnp.arange(rewards.shape[0]))[1]
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")


# How a loop may count; `{bounds}` are those of a `range`.
LOOPS = {
    "range": "    for i in range({bounds}):\n        total += table[i + {ahead}]",
    "scan": "    total, _ = lax.scan(body, total, jnp.arange({bounds}))",
    "map": "    total += jax.vmap(lambda i: table[i + {ahead}])(jnp.arange({bounds})).sum()",
}


@pytest.mark.parametrize("ahead", [1, 3])
@pytest.mark.parametrize("bounds", ["9", "0, 9", "0, 9, 3", "-4, 5", "2, 9", "8, -1, -1"])
@pytest.mark.parametrize("loop", LOOPS)
def test_the_step_and_the_start_of_a_counter_count(loop: str, bounds: str, ahead: int):
    size = 10
    program = f"""
def f(total):
    table = jnp.ones({size})

    def body(total, i):
        return total + table[i + {ahead}], None

{LOOPS[loop].format(bounds=bounds, ahead=ahead)}
    return total
"""
    highest = max(eval(f"range({bounds})")) + ahead
    assert bool(found("DF203", program)) == (highest >= size)


@pytest.mark.parametrize(("step", "limit"), [(1, 9), (1, 10), (2, 8), (3, 9), (3, 10)])
def test_the_step_of_a_while_loop_counts(step: int, limit: int):
    size = 10
    program = f"""
def f(total):
    table = jnp.ones({size})

    def body(state):
        i, total = state
        i = i + {step}
        return i, total + table[i]

    return lax.while_loop(lambda state: state[0] < {limit}, body, (0, total))
"""
    highest = max(range(0, limit, step)) + step
    assert bool(found("DF203", program)) == (highest >= size)
