"""`Result`: one boolean when all is well, the assertions when not, and a pytree always."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import Result, as_result_function, runtime_assert, with_runtime_assertions


def grow(state, needed):
    return {**state, "room": int(needed)}


def widen(state, needed):
    return {**state, "width": float(needed)}


@as_result_function
def step(x):
    """Two assertions that can be repaired, on either side of one that cannot."""
    runtime_assert(x < 3, "room {x}", {"x": x}, fix_fn=grow, fix_args=x * 2)
    runtime_assert(x < 50, "lost at {x}", {"x": x}, ValueError)
    runtime_assert(x < 5, "width {x}", {"x": x}, fix_fn=widen, fix_args=x / 2)
    return x + 1


RUNS = {"eager": step, "jitted": jax.jit(step)}
runs = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


@runs
@pytest.mark.parametrize(
    ("x", "passed"),
    [
        (0, [True, True, True]),
        (3, [False, True, True]),
        (9, [False, True, False]),
        (99, [False] * 3),
    ],
)
def test_outcome(run, x, passed):
    result = run(jnp.array(x))
    assert result.value == x + 1
    assert [bool(a.predicate) for a in result.assertions] == passed
    assert result.all_assertions_pass is all(passed)
    failed = [text for text, ok in zip(["room", "lost at", "width"], passed, strict=True) if not ok]
    assert [str(a).splitlines()[0] for a in result.failed_assertions] == [
        f"{text} {x}" for text in failed
    ]


@runs
def test_fixes_are_all_applied_in_order(run):
    state = {"room": 1, "width": 1.0, "other": "kept"}
    assert run(jnp.array(9)).fix_or_raise(state) == {"room": 18, "width": 4.5, "other": "kept"}
    assert run(jnp.array(3)).fix_or_raise(state) == {"room": 6, "width": 1.0, "other": "kept"}
    assert run(jnp.array(0)).fix_or_raise(state) is state


@runs
def test_what_cannot_be_fixed_is_raised_by_its_own_type(run):
    with pytest.raises(ValueError, match="lost at 99") as caught:
        run(jnp.array(99)).fix_or_raise({"room": 1, "width": 1.0})
    assert "room" not in str(caught.value)


@runs
def test_raise_assertion(run):
    with pytest.raises(AssertionError, match="room 9"):
        run(jnp.array(9)).raise_assertion()


def test_without_assertions():
    result = jax.jit(as_result_function(lambda x: x * 2))(jnp.array(2))
    assert result.value == 4
    assert result.all_assertions_pass
    assert result.assertions == result.failed_assertions == []
    assert result.raise_assertion() is None


def test_made_by_hand():
    _, assertions = with_runtime_assertions(lambda x: runtime_assert(x > 0, "positive"))(
        jnp.array(0)
    )
    assert Result(3).all_assertions_pass
    assert not Result(3, assertions).all_assertions_pass
    assert Result(3, assertions).value == 3


def test_value_may_hold_anything():
    result = as_result_function(lambda x: {"x": x, "name": "mesh", "n": 3})(jnp.array(1))
    assert result.value == {"x": 1, "name": "mesh", "n": 3}


def test_arguments_by_name_and_static_ones():
    @as_result_function
    def scaled(x, *, by, mode):
        runtime_assert(x * by < 5, "{mode}", {"mode": mode})
        return x * by if mode == "up" else x / by

    result = scaled(jnp.array(2.0), by=4, mode="up")
    assert result.value == 8
    assert str(result.assertions[0]).splitlines()[0] == "up"
    compiled = jax.jit(scaled, static_argnames="mode")
    assert compiled(jnp.array(8.0), by=4, mode="down").value == 2


def test_name_and_documentation_are_kept():
    assert (step.__name__, step.__doc__) == (
        "step", "Two assertions that can be repaired, on either side of one that cannot."
    )  # fmt: skip


def test_passes_through_jit_as_an_argument():
    result = jax.jit(step)(jnp.array(9))
    again = jax.jit(lambda result: result)(result)
    assert again.value == 10
    assert [str(a) for a in again.failed_assertions] == [str(a) for a in result.failed_assertions]


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_vmap_outside(jit):
    result = jit(jax.vmap(step))(jnp.array([0, 9, 3]))
    np.testing.assert_array_equal(result.value, [1, 10, 4])
    assert not result.all_assertions_pass
    room, lost, width = result.assertions
    np.testing.assert_array_equal(room.predicate, [True, False, False])
    np.testing.assert_array_equal(lost.predicate, [True, True, True])
    np.testing.assert_array_equal(width.predicate, [True, False, True])
    assert str(room).splitlines()[0] == "room 9"
    assert str(room).splitlines()[-1] == "  first failure in lane 1; 2 of 3 failed"
    assert [a.message for a in result.failed_assertions] == ["room {x}", "width {x}"]
    assert result.fix_or_raise({}) == {"room": 18, "width": 4.5}


def test_nested_vmap_outside_of_jit():
    result = jax.vmap(jax.vmap(jax.jit(step)))(jnp.array([[0, 1], [2, 9]]))
    assert (
        str(result.assertions[0]).splitlines()[-1] == "  first failure in lane 1, 1; 1 of 4 failed"
    )


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_results_stacked_by_a_scan(jit):
    """The leading axis of a scan's results is an axis of lanes."""
    run = jit(lambda xs: lax.scan(lambda c, x: (c, step(x)), None, xs)[1])
    result = run(jnp.array([0, 9, 3]))
    np.testing.assert_array_equal(result.value, [1, 10, 4])
    np.testing.assert_array_equal(result.assertions[0].predicate, [True, False, False])
    assert str(result.assertions[0]).splitlines()[0] == "room 9"
    assert not result.all_assertions_pass
    assert run(jnp.array([0, 1, 2])).all_assertions_pass


def test_result_in_a_carry():
    first = jax.jit(step)(jnp.array(0))
    again = jax.jit(lambda r: lax.fori_loop(0, 4, lambda i, r: step(r.value), r))(first)
    assert again.value == 5
    assert [str(a).splitlines()[0] for a in again.failed_assertions] == ["room 4"]


def test_collected_inside_of_a_collected_function():
    """The inner collector keeps its own; nothing comes out twice."""

    def outer(x):
        runtime_assert(x < 1, "outer {x}", {"x": x})
        inner = step(x)
        return inner.value, inner

    result = jax.jit(as_result_function(outer))(jnp.array(9))
    assert [a.message for a in result.assertions] == ["outer {x}"]
    assert [a.message for a in result.value[1].failed_assertions] == ["room {x}", "width {x}"]


@pytest.mark.parametrize(
    ("asserted", "leaves"),
    [
        ([], ["float32[2]", "bool[]"]),
        # All small arrays are words of one buffer, whatever their number and dtype:
        # whether all passed, then a predicate, two values and one for the fix, each time.
        ([()], ["float32[2]", "uint32[5]"]),
        ([(), (), ()], ["float32[2]", "uint32[13]"]),
        ([(16,)], ["float32[2]", "uint32[50]"]),
        # Each large one is a buffer of its own.
        ([(), (17,)], ["float32[2]", "uint32[6]", "int32[17]", "float32[17]", "int32[17]"]),
    ],
    ids=["none", "one", "three", "small", "large"],
)
def test_leaves_are_few(asserted, leaves):
    """A compiled function pays for each array that it returns, at every call."""

    def program(x):
        for shape in asserted:
            y = jnp.full(shape, x[0])
            n = y.astype(int)
            runtime_assert(x[0] < 3, "{y} {n}", {"y": y, "n": n}, fix_fn=grow, fix_args=n)
        return x

    compiled = jax.jit(as_result_function(program)).lower(jnp.zeros(2)).compile()
    outputs = [f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(compiled.out_info)]
    assert outputs == leaves


def test_values_of_many_assertions():
    """More words than are written by one operation; each assertion finds its own."""

    def many(x):
        for i in range(20):
            values = {"x": x + i, "y": x * 1.5, "i": i}
            runtime_assert(x < i, "{x} {y} {i}", values, fix_fn=grow, fix_args=x * i)
        return x

    result = jax.jit(as_result_function(many))(jnp.array(10))
    texts = [str(a).splitlines()[0] for a in result.failed_assertions]
    assert texts == [f"{10 + i} 15.0 {i}" for i in range(11)]
    assert [a.fix({})["room"] for a in result.failed_assertions] == [10 * i for i in range(11)]


def test_a_compiled_program_is_found_again():
    traced = []

    @jax.jit
    @as_result_function
    def counted(x):
        traced.append(x)
        runtime_assert(x < 3, "room", fix_fn=grow, fix_args=x)
        return x

    for value in (1, 5, 2, 7):
        assert counted(jnp.array(value)).all_assertions_pass is (value < 3)
    assert len(traced) == 1
