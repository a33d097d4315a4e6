"""Intervals hold for what JAX computes, and say as much as they can."""

import math

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax import lax

from verax.audit.trace.entry import trace
from verax.audit.trace.facts import Facts


def ranges_of(function, *args, ranges=None):
    """The intervals of a function's results."""
    facts = Facts(trace(function, args, {}), None, ranges)
    assert facts.traced.failure is None
    return [facts.ranges[value] for value in facts.program.body.outputs]


def range_of(function, *args, ranges=None):
    (interval,) = ranges_of(function, *args, ranges=ranges)
    return interval


def assert_holds(interval, result):
    array = np.asarray(result)
    if array.dtype.kind not in "biuf":
        array = array.astype(np.float64)
    if array.dtype.kind == "f":
        if np.isnan(array).any():
            assert interval.nan, (interval, array)
        array = array[~np.isnan(array)]
    if array.size:
        low, high = array.min().item(), array.max().item()
        assert interval.low <= low, (interval, low)
        assert high <= interval.high, (interval, high)
        if interval.integral:
            finite = array[np.isfinite(array.astype(np.float64))]
            assert (np.floor(finite) == finite).all()


# --- Random programs. Every value has the same shape, so that anything can be combined.

SIZE = 4

FLOAT_UNARY = [
    jnp.exp, jnp.log, jnp.sqrt, jnp.tanh, jnp.abs, jnp.sin, jnp.cos, jnp.floor, jnp.ceil,
    jnp.round, jnp.square, jnp.log1p, jnp.expm1, jax.nn.sigmoid, jax.nn.relu, jax.nn.softmax,
    jax.nn.log_softmax, jax.nn.softplus, jax.nn.gelu, lax.rsqrt, jnp.negative, jnp.sign,
    jnp.cumsum, jnp.sort, jnp.flip, jnp.arccos, jnp.arctan, jnp.sinh, jnp.cosh,
    jnp.reciprocal, jax.nn.swish, jnp.exp2, jnp.log2, lax.erf, lax.erf_inv,
    lambda x: x**3, lambda x: x**-2, lambda x: x**0.5, lambda x: jnp.full_like(x, x.sum()),
    lambda x: jnp.full_like(x, x.mean()), lambda x: jnp.full_like(x, x.std()),
    lambda x: jnp.full_like(x, x.max()), lambda x: jnp.full_like(x, x.min()),
    lambda x: jnp.full_like(x, x.prod()), lambda x: jnp.full_like(x, jnp.linalg.norm(x)),
    lambda x: jnp.full_like(x, jax.scipy.special.logsumexp(x)),
    lambda x: jnp.full_like(x, jnp.vdot(x, x)), lambda x: jnp.cumprod(x), lax.cummax,
    lambda x: x.astype(jnp.bfloat16).astype(jnp.float32),
    lambda x: jnp.where(x > 0, x, 1.0), lambda x: jnp.where(x >= 0.5, 1 - x, x),
    lambda x: jnp.clip(x, -2, 3), lambda x: x / jnp.maximum(jnp.abs(x), 1e-3),
    lambda x: jnp.nan_to_num(x), lambda x: x.at[1].set(0.25),
    lambda x: x.at[jnp.array([0, 0])].add(x[:2]),
    lambda x: jnp.pad(x[1:], (1, 0)), lambda x: x[jnp.argsort(x)], lambda x: jnp.roll(x, 1),
    lambda x: jnp.convolve(x, x, mode="same"), lambda x: lax.map(lambda y: y * 2, x),
    lambda x: lax.fori_loop(0, 5, lambda i, y: y * 0.5 + i, x),
    lambda x: lax.scan(lambda c, y: (c * 0.9 + y, c), 0.0, x)[1],
    lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, -jnp.abs(c[1])), (0, x))[1],
    lambda x: jax.vmap(lambda y: lax.cond(y > 1, lambda y: y - 1, lambda y: y * 2, y))(x),
    lambda x: lax.cond(x[0] > 1, lambda: x - 1, lambda: x * 2),
    lambda x: lax.fori_loop(0, 3, lambda i, y: lax.fori_loop(0, i + 1, lambda j, z: z + j, y), x),
    lambda x: lax.scan(
        lambda c, y: (lax.scan(lambda d, z: (jnp.minimum(d, z) - 1, d), c, x)[0], y + c), 1.0, x
    )[1],
    lambda x: lax.fori_loop(
        0, 4, lambda i, y: lax.cond(i < 2, lambda: y + i, lambda: jnp.where(y > i, y / i, y)), x
    ),
    lambda x: lax.while_loop(
        lambda c: (c[0] < 5) & (c[1].sum() < 100),
        lambda c: (c[0] + 2, lax.fori_loop(0, c[0], lambda k, y: y * 0.5 + k, c[1])),
        (0, x),
    )[1],
]  # fmt: skip
FLOAT_BINARY = [
    jnp.add, jnp.subtract, jnp.multiply, jnp.divide, jnp.maximum, jnp.minimum, jnp.power,
    jnp.arctan2, jnp.remainder, lambda x, y: jnp.where(x < y, x, y), jnp.logaddexp, jnp.hypot,
    lambda x, y: jnp.full_like(x, x @ y), lambda x, y: jnp.concatenate([x[:2], y[2:]]),
    lambda x, y: jnp.where((x > 0) & (y > 0), x * y, 0.0), jnp.copysign,
    lambda x, y: jnp.where((x > 0) | ~(y < 1), x, y),
]  # fmt: skip
INTEGER_UNARY = [
    jnp.abs, jnp.negative, jnp.square, lambda i: i + 1, lambda i: i * 3, lambda i: i % 5,
    lambda i: i // 3, jnp.cumsum, lambda i: jnp.clip(i, 0, 7), lambda i: jnp.full_like(i, i.sum()),
    lambda i: i >> 1, lambda i: i << 2, lambda i: i & 6, lambda i: i | 1, lambda i: i ^ 3,
    lambda i: i >> (i & 3), lambda i: i >> 7, lambda i: i & -4,
    lambda i: jnp.where(i < 0, i + SIZE, i), lambda i: jnp.sort(i),
    lambda i: lax.fori_loop(0, 7, lambda k, j: jnp.maximum(j, k), i), lax.population_count,
]  # fmt: skip


@st.composite
def programs(draw):
    """A list of instructions; each makes one value of those before it."""
    count = draw(st.integers(1, 7))
    return [
        (
            draw(st.sampled_from(["unary", "binary", "integer", "to_float", "to_integer"])),
            draw(st.integers(0, 10_000)),
            draw(st.integers(0, 10_000)),
            draw(st.integers(0, 10_000)),
        )
        for _ in range(count)
    ]


def run(program, floats, integers):
    floats, integers = list(floats), list(integers)
    for kind, which, first, second in program:
        x, y = floats[first % len(floats)], floats[second % len(floats)]
        i = integers[first % len(integers)]
        if kind == "unary":
            floats.append(FLOAT_UNARY[which % len(FLOAT_UNARY)](x))
        elif kind == "binary":
            floats.append(FLOAT_BINARY[which % len(FLOAT_BINARY)](x, y))
        elif kind == "integer":
            integers.append(INTEGER_UNARY[which % len(INTEGER_UNARY)](i))
        elif kind == "to_float":
            floats.append(i.astype(jnp.float32))
        else:
            integers.append(x.astype(jnp.int32))
    return floats + integers


FLOATS = st.floats(-1e6, 1e6, width=32) | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-30, math.inf])


@settings(max_examples=settings().max_examples)
@given(
    programs(),
    st.lists(FLOATS, min_size=SIZE, max_size=SIZE),
    st.lists(st.floats(0, 1, width=32), min_size=SIZE, max_size=SIZE),
    st.lists(st.integers(-10, 10), min_size=SIZE, max_size=SIZE),
    st.lists(st.integers(0, 255), min_size=SIZE, max_size=SIZE),
)
def test_results_lie_in_their_intervals(program, any_floats, bounded, integers, pixels):
    def function(x, p, i, u):
        return run(program, [x, p], [i, u])

    args = (
        jnp.array(any_floats, jnp.float32),
        jnp.array(bounded, jnp.float32),
        jnp.array(integers, jnp.int32),
        jnp.array(pixels, jnp.uint8),
    )
    intervals = ranges_of(function, *args, ranges={"p": (0, 1), "i": (-10, 10)})
    for interval, result in zip(intervals, function(*args), strict=True):
        assert_holds(interval, result)


@settings(max_examples=settings().max_examples // 10)
@given(st.integers(0, 2**31 - 1))
def test_random_draws_lie_in_their_intervals(seed):
    def draws(key):
        shape = (64,)
        return (
            jax.random.uniform(key, shape),
            jax.random.uniform(key, shape, minval=-2.0, maxval=3.0),
            jax.random.normal(key, shape),
            jax.random.truncated_normal(key, -1.0, 2.0, shape),
            jax.random.bernoulli(key, 0.3, shape),
            jax.random.randint(key, shape, -3, 9),
            jax.random.categorical(key, jnp.zeros((64, 5))),
            jax.random.exponential(key, shape),
            jax.random.gumbel(key, shape),
            jax.random.permutation(key, 64),
            jax.random.dirichlet(key, jnp.ones(5)),
        )

    key = jax.random.key(seed)
    for interval, result in zip(ranges_of(draws, key), draws(key), strict=True):
        assert_holds(interval, result)


# --- What intervals say


X = jnp.ones(8)


@pytest.mark.parametrize(
    ("function", "low", "high"),
    [
        (jax.nn.softmax, 0, 1),
        (jax.nn.sigmoid, 0, 1),
        (jnp.tanh, -1, 1),
        (jax.nn.relu, 0, math.inf),
        (jnp.exp, 0, math.inf),
        (jnp.square, 0, math.inf),
        (lambda x: x * x, 0, math.inf),
        (lambda x: x**2, 0, math.inf),
        (jnp.var, 0, math.inf),
        (jnp.linalg.norm, 0, math.inf),
        (lambda x: jnp.vdot(x, x), 0, math.inf),
        (lambda x: jnp.maximum(x, 1e-6), np.float32(1e-6), math.inf),
        (lambda x: jnp.clip(x, -2, 3), -2, 3),
        (lambda x: jnp.where(x > 2, x, 2.0), 2, math.inf),
        (lambda x: jnp.where(x.sum() > 1, x.sum(), 1.0), 1, math.inf),
        (lambda x: jnp.where((x > 0) & (x < 3), x, 1.0), 0, 3),
        (lambda x: jnp.where(~(x < 0), 0.0, x), -math.inf, 0),
        # What is not less than nan need not be greater than anything.
        (lambda x: jnp.where(x < jnp.clip(jnp.log(x), 0, 1), 0.0, x), -math.inf, math.inf),
        (jax.nn.log_softmax, -math.inf, 0),
        (jnp.argmax, 0, 7),
        (lambda x: x.astype(jnp.int16) & 1, 0, 1),
        (lambda x: x.astype(jnp.int16) >> 15, -1, 0),
        (lambda x: jax.nn.one_hot(jnp.argmax(x), 8), 0, 1),
        (lambda x: x > 0, 0, 1),
        (lambda x: jnp.arange(8), 0, 7),
        (lambda x: jnp.cumsum(x > 0), 0, 8),
        (lambda x: lax.fori_loop(0, 10, lambda i, c: i, 0), 0, 9),
        (lambda x: lax.fori_loop(0, 10, lambda i, c: jnp.clip(c + x, 0, 1), x * 0), 0, 1),
        (lambda x: jax.vmap(jax.nn.sigmoid)(x), 0, 1),
        (lambda x: lax.cond(x[0] > 0, lambda: 1.0, lambda: 3.0), 1, 3),
        (lambda x: jnp.sum(jnp.exp(x - x.max())), 1, 8),
    ],
)
def test_what_operations_guarantee(function, low, high):
    interval = range_of(function, X)
    assert interval.low == pytest.approx(low, abs=1e-4)
    assert interval.high == pytest.approx(high, rel=1e-4)


def test_a_while_loop_is_bounded_by_its_condition():
    def count(n):
        return lax.while_loop(lambda i: i < 1000, lambda i: i + 3, 0)

    interval = range_of(count, X)
    assert (interval.low, interval.high) == (0, 1002)


def test_a_carry_without_bound_is_given_up():
    interval = range_of(lambda x: lax.scan(lambda c, y: (c + y, c), x[0], x)[0], X)
    assert (interval.low, interval.high) == (-math.inf, math.inf)


def test_minus_zero_has_a_root_below_zero():
    zero = jnp.array([-0.0])
    assert_holds(range_of(lambda x: lax.rsqrt(jnp.abs(x) * x), zero), lax.rsqrt(zero))


def test_the_example_is_not_a_bound():
    assert range_of(lambda x: x, X).high == math.inf


def test_a_dtype_is_a_bound():
    pixels = jnp.zeros(3, jnp.uint8)
    interval = range_of(lambda x: x.astype(jnp.float32) / 255, pixels)
    assert (interval.low, interval.high) == (0, 1)


def test_a_declared_range_reaches_all_leaves_below_it():
    tree = {"a": (jnp.ones(2), jnp.ones(2)), "b": jnp.ones(2)}
    intervals = ranges_of(
        lambda t: (t["a"], t["b"]), tree, ranges={"t": {"a": (0, 1), "b": (2, 3)}}
    )
    assert [(it.low, it.high) for it in intervals] == [(0, 1), (0, 1), (2, 3)]


def test_softmax_is_zero_only_where_something_is_masked():
    def masked(x, keep):
        return jax.nn.softmax(jnp.where(keep, x, -1e9))

    reached = range_of(masked, X, X > 0).points
    assert 0 in [point.value for point in reached]
    assert 0 not in [point.value for point in range_of(jax.nn.softmax, X).points]


def test_a_mask_takes_back_what_it_brought():
    def guarded(x, keep):
        probs = jax.nn.softmax(jnp.where(keep, x, -1e9))
        return jnp.where(keep, probs, 1.0)

    reached = range_of(guarded, X, X > 0).points
    assert 0 not in [point.value for point in reached]


@pytest.mark.parametrize("function", [jnp.sqrt, jnp.log, jnp.arccos, jnp.arcsin, jnp.arctanh])
@pytest.mark.parametrize("ends", [(-3, -2), (2, 3)])
def test_bounds_that_a_function_is_not_defined_in(function, ends):
    interval = range_of(lambda x: function(x), X, ranges={"x": ends})
    for end in ends:
        assert_holds(interval, function(jnp.float32(end)))


def test_an_unknown_primitive_gives_nothing_but_its_dtype():
    def unknown(x):
        return jax.pure_callback(lambda x: x, jax.ShapeDtypeStruct((8,), jnp.float32), x)

    interval = range_of(lambda x: unknown(jnp.tanh(x)), X)
    assert (interval.low, interval.high, interval.nan) == (-math.inf, math.inf, True)


def test_every_primitive_has_a_rule_or_is_unbounded_on_purpose():
    from jax.extend.core import primitives

    from verax.audit.trace.ranges.table import FOLLOWED, RULES, UNBOUNDED

    names = {getattr(primitives, name).name for name in dir(primitives) if name.endswith("_p")}
    assert not names - set(RULES) - FOLLOWED - UNBOUNDED
    assert not set(RULES) & UNBOUNDED
