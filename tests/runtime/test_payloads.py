"""What an assertion may carry: every dtype and shape, random keys, numbers, names, nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import runtime_assert, with_runtime_assertions
from verax.runtime import FIRST, LARGEST

from .cases import RUN, Case, fails

DTYPES = [
    bool, jnp.int8, jnp.int16, jnp.int32, jnp.uint8, jnp.uint16, jnp.uint32,
    jnp.float16, jnp.bfloat16, jnp.float32, jnp.complex64,
]  # fmt: skip
KINDS = [(dtype, ()) for dtype in DTYPES]
KINDS += [(dtype, shape) for dtype in (bool, jnp.float32) for shape in [(1,), (2, 2), (2, 0)]]


def in_line(check, xs):
    check(xs[1])


def in_scan(check, xs):
    lax.scan(lambda _, x: (check(x), None), None, xs)


def in_cond(check, xs):
    lax.cond(xs.size < 0, lambda: None, lambda: check(xs[1]))


def in_while(check, xs):
    lax.while_loop(lambda i: i < 3, lambda i: (check(xs[i]), i + 1)[1], 0)


PLACES = [in_line, in_scan, in_cond, in_while]


def second_fails(x, value, **options):
    """Fails where `x` is 1."""
    runtime_assert(x != 1, "second", {"v": value}, fix_fn=lambda s, v: v, fix_args=value, **options)


def run(program, mode):
    return RUN[mode](Case("", program, (jnp.arange(3),), None, [fails("second")], (), 0))


@pytest.mark.parametrize(
    ("place", "mode"),
    [
        (in_scan, "eager"),
        *((place, mode) for place in PLACES for mode in ("jitted", "vmap_inside")),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_all_dtypes_and_shapes(place, mode):
    """One program with an assertion for each dtype and shape: values arrive unchanged."""
    values = {
        (np.dtype(dtype).name, shape): jnp.asarray(
            np.broadcast_to(np.arange(3).reshape(3, *(1,) * len(shape)), (3, *shape)).astype(dtype)
        )
        for dtype, shape in KINDS
    }

    def program(xs):
        def check(x):
            for value in values.values():
                second_fails(x, value[x])

        place(check, xs)
        return xs

    _, assertions = run(program, mode)
    assert len(assertions) == len(values)
    for assertion, value in zip(assertions, values.values(), strict=True):
        assert assertion.failed
        for got in (assertion.fix(None), _first_lane(assertion, mode)):
            assert got.dtype == value.dtype
            np.testing.assert_array_equal(np.asarray(got), np.asarray(value[1]))


def _first_lane(assertion, mode):
    value = assertion.fmt_args["v"]
    return value[0] if mode.startswith("vmap") else value


@pytest.mark.parametrize("place", PLACES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("mode", ["jitted", "vmap_inside"])
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_random_keys(place, mode, impl):
    """A key comes out as the key that it was, and draws the same numbers."""
    keys = jax.random.split(jax.random.key(7, impl=impl), 3)

    def program(xs):
        place(lambda x: second_fails(x, {"k": keys[x], "pair": keys[:2]}), xs)
        return xs

    _, (assertion,) = run(program, mode)
    fixed = assertion.fix(None)
    assert fixed["k"].dtype == keys.dtype
    assert jax.random.bits(fixed["k"]) == jax.random.bits(keys[1])
    np.testing.assert_array_equal(jax.random.key_data(fixed["pair"]), jax.random.key_data(keys[:2]))


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (0.5, "0.5"),
        (True, "True"),
        (1 + 2j, "(1+2j)"),
        (np.float32(0.1), "0.1"),
        (np.array([1, 2]), "[1 2]"),
        ("name", "name"),
        (None, "None"),
        (("a", "b"), "('a', 'b')"),
        ((), "()"),
        (FIRST, "Law.FIRST"),
        (int, "<class 'int'>"),
    ],
    ids=lambda value: str(value).replace("<class 'int'>", "class"),
)
def test_values_known_while_tracing(jit, value, text):
    def program(x):
        runtime_assert(x > 0, "value {v}", {"v": value})

    _, (assertion,) = jit(with_runtime_assertions(program))(jnp.array(0))
    assert str(assertion).splitlines()[0] == f"value {text}"


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_no_values_at_all(jit):
    def program(x):
        runtime_assert(x > 0, "positive")

    _, (assertion,) = jit(with_runtime_assertions(program))(jnp.array(0))
    assert str(assertion).splitlines()[0] == "positive"
    assert assertion.fmt_args == {}
    assert assertion.fix_args is None


@pytest.mark.parametrize("predicate", [True, False, np.bool_(False), np.array([True, False])])
def test_predicates_known_while_tracing(predicate):
    def program(x):
        runtime_assert(predicate, "known")
        return x

    _, (assertion,) = jax.jit(with_runtime_assertions(program))(jnp.array(0))
    np.testing.assert_array_equal(assertion.predicate, predicate, strict=False)
    assert assertion.valid is bool(np.all(predicate))


def test_empty_predicate_holds():
    _, (assertion,) = with_runtime_assertions(lambda x: runtime_assert(x > 0, "all"))(
        jnp.zeros((0, 2))
    )
    assert assertion.predicate.shape == (0, 2)
    assert assertion.valid


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.uint32, jnp.float16, jnp.bfloat16, jnp.float32])
def test_largest_of_every_ordered_dtype(dtype):
    xs = jnp.array([1, 3, 9, 7]).astype(dtype)

    def program(xs):
        def body(_, x):
            runtime_assert(x < 2, "", fix_fn=lambda s, v: v, fix_args={"v": x}, fix_law=LARGEST)
            return None, None

        return lax.scan(body, None, xs)

    _, (assertion,) = jax.jit(with_runtime_assertions(program))(xs)
    assert assertion.fix(None)["v"].dtype == dtype
    assert assertion.fix(None)["v"] == 9


@pytest.mark.parametrize("place", ["scan", "vmap"])
def test_largest_of_negative_values(place):
    """What stands for "no failure" is no candidate for the maximum."""

    def check(x):
        runtime_assert(x > -2, "", fix_fn=lambda s, v: v, fix_args=x, fix_law=LARGEST)

    programs = {
        "scan": lambda xs: lax.scan(lambda _, x: (check(x), None), None, xs),
        "vmap": jax.vmap(check),
    }
    _, (assertion,) = with_runtime_assertions(programs[place])(jnp.array([-1.0, -5.0, -3.0]))
    assert assertion.fix(None) == -3


def test_weak_types_do_not_disturb_a_loop():
    def body(total, x):
        runtime_assert(total < 3.0, "total {t}", {"t": total * 1.0})
        return total + 1.0, None

    def program(x):
        return lax.scan(body, 0.0, None, length=5)[0] + x

    value, (assertion,) = jax.jit(with_runtime_assertions(program))(jnp.float32(1))
    assert value == 6
    assert value.dtype == jnp.float32
    assert str(assertion).splitlines()[0] == "total 3.0"


def test_double_precision():
    with jax.enable_x64(True):

        def program(x):
            runtime_assert(x < 0, "x {x}", {"x": x, "n": jnp.int64(2**40)})
            return x

        _, (assertion,) = jax.jit(with_runtime_assertions(program))(jnp.float64(0.1))
        assert str(assertion).splitlines()[0] == "x 0.1"
        assert assertion.fmt_args["n"] == 2**40
