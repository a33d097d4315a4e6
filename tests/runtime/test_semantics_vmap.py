"""Assertions under `vmap`: each lane answers for itself, and only for what it did."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import runtime_assert, with_runtime_assertions
from verax.runtime import FIRST, LARGEST

from .cases import Table, fails, passes, small

table = Table()


@table([1.0, 7.0, 9.0], calm=([1.0, 2.0, 3.0],), expect=[
    fails("x is 7.0", predicate=[True, False, False], lane=[1], fix=7.0)
])  # fmt: skip
def lanes(xs):
    return jax.vmap(lambda x: (small(x), x * 2)[1])(xs)


@table([1.0, 7.0, 9.0], expect=[
    fails("x is 7.0", predicate=[True, False, False], lane=[1], fix=9.0)
])  # fmt: skip
def largest_of_lanes(xs):
    return jax.vmap(lambda x: (small(x, law=LARGEST), x * 2)[1])(xs)


@table([[1.0, 2.0, 7.0], [3.0, 8.0, 4.0]], expect=[
    fails("x is 7.0", predicate=[[True, True, False], [True, False, True]], lane=[0, 2], fix=8.0)
])  # fmt: skip
def nested(xs):
    return jax.vmap(jax.vmap(lambda x: (small(x, law=LARGEST), x)[1]))(xs)


@table([[1.0, 2.0, 7.0], [3.0, 8.0, 4.0]], expect=[
    fails("x is 8.0", predicate=[[True, True], [True, False], [False, True]], lane=[1, 1], fix=8.0)
])  # fmt: skip
def in_axes(xs):
    """The mapped axis leads, wherever it stood; the outer `vmap` comes first."""
    return jax.vmap(jax.vmap(lambda x: (small(x), x)[1], in_axes=0), in_axes=1, out_axes=1)(xs)


@table([1.0, 7.0], [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]], expect=[
    fails("v is [7. 8. 9.]", predicate=[[True] * 3, [False] * 3], lane=[1],
          fix=jnp.array([7.0, 8.0, 9.0])),
    fails("x is 7.0", predicate=[True, False], lane=[1]),
])  # fmt: skip
def predicate_of_an_array(xs, vs):
    """Own axes follow those of `vmap`; a lane fails if any of its elements does."""

    def one(x, v):
        small(x + v[:1] * 0 + jnp.arange(3.0), name="v")
        small(x)
        return x

    return jax.vmap(one, in_axes=(0, None))(xs, vs[0])


@table(7.0, [1.0, 2.0], expect=[
    fails("x is 7.0", predicate=[False, False], lane=[0], fix=7.0),
])  # fmt: skip
def value_that_is_not_mapped(x, ys):
    return jax.vmap(lambda y: (small(x), y + x)[1])(ys)


@table([1.0, 7.0], expect=[
    fails("sum is 8.0 and position 0", predicate=[False, False], lane=[0]),
])  # fmt: skip
def collective(xs):
    def one(x):
        total, i = lax.psum(x, "lanes"), lax.axis_index("lanes")
        runtime_assert(total < 5, "sum is {t} and position {i}", {"t": total, "i": i})
        return x

    return jax.vmap(one, axis_name="lanes")(xs)


@table([0, 3, 1], expect=[
    fails("count is 2", predicate=[True, False, True], iteration=[2], lane=[1], fix=2),
])  # fmt: skip
def finished_lanes_of_a_while(stops):
    """Lane 0 would fail in every iteration it takes no part in; jax-ml/jax#12843."""

    def one(stop):
        def body(count):
            runtime_assert(
                (count < 2) & (count < stop),
                "count is {c}",
                {"c": count},
                fix_fn=lambda s, c: c,
                fix_args=count,
            )
            return count + 1

        return lax.while_loop(lambda count: count < stop, body, 0)

    return jax.vmap(one)(stops)


@table([0, 3, 1], expect=[
    fails("at 2", predicate=[True, False, True], iteration=[2], lane=[1], fix=2),
])  # fmt: skip
def finished_lanes_of_a_condition(stops):
    """A condition is evaluated once more than the body, and not again for a finished lane."""

    def one(stop):
        def condition(count):
            met = (count <= stop) & ~((stop == 3) & (count == 2))
            runtime_assert(met, "at {c}", {"c": count}, fix_fn=lambda s, c: c, fix_args=count)
            return count < stop

        return lax.while_loop(condition, lambda count: count + 1, 0)

    return jax.vmap(one)(stops)


@table([0, 3, 1], 10, expect=[
    fails("steps 2", predicate=[True, False, True], iteration=[2], lane=[1]),
])  # fmt: skip
def fori_with_batched_bounds(stops, limit):
    def one(stop):
        def body(i, total):
            runtime_assert((i < 2) & (i < stop), "steps {i}", {"i": i})
            return total + limit

        return lax.fori_loop(0, stop, body, 0)

    return jax.vmap(one)(stops)


@table([True, False, True], [1.0, 9.0, 7.0], expect=[
    fails("other is 9.0", predicate=[True, False, True], lane=[1], fix=9.0),
    fails("taken is 7.0", predicate=[True, True, False], lane=[2], fix=7.0),
])  # fmt: skip
def branches_of_a_batched_cond(chosen, xs):
    def one(chosen, x):
        return lax.cond(
            chosen,
            lambda x: (small(x, name="taken"), x)[1],
            lambda x: (small(x, name="other"), -x)[1],
            x,
        )

    return jax.vmap(one)(chosen, xs)


@table([2, 0, 1, 2], [9.0, 8.0, 7.0, 6.0], expect=[
    fails("b0 is 8.0", predicate=[True, False, True, True], lane=[1], fix=8.0),
    fails("b1 is 7.0", predicate=[True, True, False, True], lane=[2], fix=7.0),
    fails("b2 is 9.0", predicate=[False, True, True, False], lane=[0], fix=9.0),
])  # fmt: skip
def branches_of_a_batched_switch(index, xs):
    def branch(name):
        return lambda x: (small(x, name=name, law=LARGEST), x)[1]

    return jax.vmap(lambda i, x: lax.switch(i, [branch(f"b{k}") for k in range(3)], x))(index, xs)


@table([[1.0, 7.0, 2.0], [9.0, 3.0, 6.0]], expect=[
    fails("odd is 7.0", predicate=[False, True], iteration=[1], lane=[0], fix=7.0),
    fails("even is 6.0", predicate=[True, False], iteration=[2], lane=[1], fix=6.0),
])  # fmt: skip
def cond_in_scan_in_vmap(rows):
    """Only whole numbers that are odd reach the first branch, and even ones the second."""

    def body(carry, x):
        odd = x % 2 == 1
        lax.cond(odd, lambda: small(jnp.where(x == 9, 0, x), name="odd"), lambda: None)
        lax.cond(odd, lambda: None, lambda: small(x, name="even"))
        return carry + x, None

    return jax.vmap(lambda row: lax.scan(body, 0.0, row)[0])(rows)


@table([[0, 3], [2, 1]], expect=[
    fails("n is 2", predicate=[[True, False], [True, True]], iteration=[2], lane=[0, 1], fix=2),
])  # fmt: skip
def while_under_two_vmaps(stops):
    def one(stop):
        def body(n):
            runtime_assert(n < 2, "n is {n}", {"n": n}, fix_fn=lambda s, n: n, fix_args=n)
            return n + 1

        return lax.while_loop(lambda n: n < stop, body, 0)

    return jax.vmap(jax.vmap(one))(stops)


@table([1.0, 7.0, 9.0, 6.0], expect=[
    fails("x is 7.0", predicate=[True, False], iteration=[0], lane=[1], fix=9.0)
])  # fmt: skip
def vmap_in_scan(xs):
    """Lanes fold each for itself: lane 0 meets 1 and 9, lane 1 meets 7 and 6."""
    pairs = xs.reshape(2, 2)

    def body(_, pair):
        keep = jnp.where(jnp.arange(2) == 0, 0.0, 1.0) * pair
        return None, jax.vmap(lambda x: (small(x, law=LARGEST), x)[1])(keep)

    return lax.scan(body, None, jnp.stack([pairs[0], pairs[1].at[1].set(9.0)]))[1]


@table.in_all_modes()
def test_vmap(case, mode):
    case.check(mode)


def test_lane_zero_of_the_batch_without_failures_is_silent():
    _, (assertion,) = with_runtime_assertions(jax.vmap(small))(jnp.array([1.0, 2.0]))
    assert assertion.valid
    assert len(str(assertion).splitlines()) == 2  # No word of a failure.


def test_empty_batch():
    value, (assertion,) = with_runtime_assertions(jax.vmap(lambda x: (small(x), x)[1]))(
        jnp.zeros((0,))
    )
    assert value.shape == assertion.predicate.shape == (0,)
    assert assertion.valid


@pytest.mark.parametrize("law", [FIRST, LARGEST], ids=["first", "largest"])
@pytest.mark.parametrize("where", ["inside", "outside"])
def test_fix_arguments_of_lanes_keep_their_structure(law, where):
    def one(x):
        runtime_assert(
            x.sum() < 9,
            "sum",
            fix_fn=lambda state, needed: (state, needed),
            fix_args={"x": x, "n": (x * 10).astype(jnp.int32)},
            fix_law=law,
        )

    xs = jnp.array([[1.0, 2.0], [9.0, 2.0], [3.0, 8.0]])
    if where == "inside":
        _, (assertion,) = with_runtime_assertions(jax.vmap(one))(xs)
    else:
        _, (assertion,) = jax.vmap(with_runtime_assertions(one))(xs)
    state, needed = assertion.fix("state")
    assert state == "state"
    expected = [9.0, 2.0] if law is FIRST else [9.0, 8.0]
    np.testing.assert_array_equal(needed["x"], expected)
    np.testing.assert_array_equal(needed["n"], np.multiply(expected, 10).astype(np.int32))


def test_passes_alone():
    """The table can tell a lane that failed from one that passed."""
    case = next(case for case in table.cases if case.name == "lanes")
    wrong = Table()
    wrong(*case.args, expect=[passes(3)])(case.program)
    with pytest.raises(AssertionError):
        wrong.cases[0].check("eager")
