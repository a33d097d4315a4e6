"""`check_assertions`: what has failed so far, as a value inside the computation."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import as_result_function, check_assertions, runtime_assert, with_runtime_assertions

from .cases import small

jits = pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])


def answers(program, *args, jit=jax.jit):
    """What the program returns when collected; bare, every answer must be true."""
    bare = program(*args)
    assert all(np.all(leaf) for leaf in jax.tree.leaves(bare))
    value, _ = jit(with_runtime_assertions(program))(*args)
    return jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), value)


@jits
def test_in_a_straight_line(jit):
    def program(x):
        before = check_assertions()
        small(x)
        after_one = check_assertions()
        small(x + 4)
        return before, after_one, check_assertions()

    assert answers(program, 0.0, jit=jit) == (True, True, True)
    assert answers(program, 3.0, jit=jit) == (True, True, False)
    assert answers(program, 9.0, jit=jit) == (True, False, False)


@jits
def test_in_a_scan_earlier_iterations_count(jit):
    def program(xs):
        def body(_, x):
            before = check_assertions()
            small(x)
            return None, (before, check_assertions())

        return lax.scan(body, None, xs)[1], check_assertions()

    (before, after), end = answers(program, jnp.array([1.0, 7.0, 2.0]), jit=jit)
    assert before == [True, True, False]
    assert after == [True, False, False]
    assert end is False


@jits
def test_in_a_scan_what_came_before_it_counts(jit):
    def program(x, xs):
        small(x)
        return lax.scan(lambda _, x: (None, check_assertions()), None, xs)[1]

    assert answers(program, jnp.array(9.0), jnp.zeros(2), jit=jit) == [False, False]
    assert answers(program, jnp.array(1.0), jnp.zeros(2), jit=jit) == [True, True]


@jits
def test_in_nested_scans(jit):
    def program(rows):
        def outer(_, row):
            def inner(_, x):
                small(x)
                return None, check_assertions()

            return None, lax.scan(inner, None, row)[1]

        return lax.scan(outer, None, rows)[1]

    assert answers(program, jnp.array([[1.0, 2], [7, 1], [1, 1]]), jit=jit) == [
        [True, True], [False, False], [False, False]
    ]  # fmt: skip


@jits
@pytest.mark.parametrize("place", ["body", "condition"])
def test_a_while_loop_stops_by_itself(jit, place):
    def program(limit):
        def condition(i):
            if place == "condition":
                small(i)
            return (i < limit) & check_assertions()

        def body(i):
            if place == "body":
                small(i)
            return i + 1

        return lax.while_loop(condition, body, 0)

    checked = jit(with_runtime_assertions(program))
    assert program(9) == 9
    assert checked(jnp.array(4))[0] == 4
    value, (assertion,) = checked(jnp.array(9))
    # The condition refuses 5 before the body counts on; the body meets it and counts once more.
    assert value == {"condition": 5, "body": 6}[place]
    assert assertion.failed


@jits
@pytest.mark.parametrize("chosen", [True, False])
def test_in_a_branch(jit, chosen):
    def program(chosen, x):
        def checked(x):
            small(x)
            return check_assertions()

        inside = lax.cond(chosen, checked, lambda x: check_assertions(), x)
        return inside, check_assertions()

    expected = (not chosen, not chosen)
    assert answers(program, jnp.array(chosen), jnp.array(9.0), jit=jit) == expected


@jits
def test_under_vmap_all_lanes_count_afterwards(jit):
    def program(xs):
        jax.vmap(small)(xs)
        return check_assertions()

    assert answers(program, jnp.array([1.0, 9.0]), jit=jit) is False
    assert answers(program, jnp.array([1.0, 2.0]), jit=jit) is True


@jits
def test_inside_vmap_all_lanes_count(jit):
    """As documented: in `vmap`, the answer is about all lanes."""

    def program(xs):
        return jax.vmap(lambda x: (small(x), check_assertions())[1])(xs)

    assert answers(program, jnp.array([1.0, 9.0]), jit=jit) == [False, False]


@jits
def test_a_loop_under_vmap(jit):
    def program(stops):
        def one(stop):
            def body(i):
                small(i)
                return i + 1

            return lax.while_loop(lambda i: i < stop, body, 0)

        return jax.vmap(one)(stops) < 99, check_assertions()

    assert answers(program, jnp.array([2, 3]), jit=jit) == ([True, True], True)
    assert answers(program, jnp.array([2, 7]), jit=jit) == ([True, True], False)


@jits
def test_under_grad(jit):
    """Inside of what is differentiated, and after it."""

    def program(x):
        def loss(x):
            small(x)
            return jnp.where(check_assertions(), x**2, x)

        return jax.grad(loss)(x), check_assertions()

    for x, slope, passed in [(2.0, 4.0, True), (9.0, 1.0, False)]:
        (gradient, answer), _ = jit(with_runtime_assertions(program))(jnp.array(x))
        assert (gradient, answer) == (slope, passed)


@jits
def test_under_grad_of_a_scan(jit):
    def loss(xs):
        def body(total, x):
            small(x)
            return total + jnp.where(check_assertions(), x**2, 0.0), None

        return lax.scan(body, 0.0, xs)[0]

    gradient, _ = jit(with_runtime_assertions(jax.grad(loss)))(jnp.array([1.0, 3.0, 9.0, 2.0]))
    np.testing.assert_array_equal(gradient, [2.0, 6.0, 0.0, 0.0])


@jits
@pytest.mark.parametrize("wrap", [jax.jit, jax.checkpoint], ids=["jit", "checkpoint"])
def test_through_calls(jit, wrap):
    def program(x):
        small(x)
        inside = wrap(lambda x: (check_assertions(), small(x - 4), check_assertions()))(x)
        return inside[0], inside[2], check_assertions()

    assert answers(program, jnp.array(1.0), jit=jit) == (True, True, True)
    assert answers(program, jnp.array(6.0), jit=jit) == (False, False, False)


@jits
def test_through_custom_rules(jit):
    @jax.custom_jvp
    def square(x):
        small(x)
        return jnp.where(check_assertions(), x**2, 0.0)

    square.defjvp(lambda primals, tangents: (square(*primals), 100 * tangents[0]))

    def program(x):
        return square(x), check_assertions()

    (value, passed), _ = jit(with_runtime_assertions(program))(jnp.array(9.0))
    assert (value, passed) == (0, False)
    (value, passed), _ = jit(with_runtime_assertions(program))(jnp.array(2.0))
    assert (value, passed) == (4, True)


def test_a_step_with_donated_buffers_rolls_back_by_itself():
    """The input is gone after the call, so the step itself must return what it was given."""

    @partial(jax.jit, donate_argnums=0)
    @as_result_function
    def step(state):
        new = {"x": state["x"] * 2, "n": state["n"] + 1}
        runtime_assert(
            new["x"].max() < 100,
            "x grew to {x}",
            {"x": new["x"].max()},
            fix_fn=lambda state, largest: {**state, "x": state["x"] / largest},
            fix_args=new["x"].max(),
        )
        keep = check_assertions()
        return jax.tree.map(lambda new, old: jnp.where(keep, new, old), new, state)

    state = {"x": jnp.array([3.0, 20.0]), "n": jnp.array(0)}
    given = state["x"]
    result = step(state)
    assert given.is_deleted()
    assert result.all_assertions_pass
    result = step(result.value)
    assert result.all_assertions_pass
    result = step(result.value)  # 80 would become 160.
    np.testing.assert_array_equal(result.value["x"], [12.0, 80.0])
    assert result.value["n"] == 2
    state = result.fix_or_raise(result.value)
    np.testing.assert_array_equal(state["x"], np.array([12.0, 80.0], np.float32) / 160)
    assert step(state).all_assertions_pass
