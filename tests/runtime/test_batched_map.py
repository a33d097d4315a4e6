"""`lax.map` with a batch size: the same assertions come out as without one.

A batch is a matter of speed. So its elements are iterations, like those of any map, and not lanes;
elements after the last full batch, for which JAX makes a `vmap` of its own, continue the count.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import with_runtime_assertions
from verax.runtime import FIRST, LARGEST

from .cases import compare, fails, passes, small

# The first failure (7), the last one (6) and the largest (9) differ, and are in batches of
# their own if these have one or two elements.
XS = jnp.array([1.0, 7.0, 4.0, 9.0, 0.0, 6.0])
DIVIDES, HAS_REST = 2, 4
sizes = pytest.mark.parametrize("size", [DIVIDES, HAS_REST], ids=["divides", "has_rest"])


def outcome(program, *args):
    """All that a user sees of a run."""
    value, assertions = jax.jit(with_runtime_assertions(program))(*args)
    return [
        jax.tree.map(lambda leaf: np.asarray(leaf).tolist(), value),
        *((a.predicate.tolist(), str(a), np.asarray(a.fix(None)).tolist()) for a in assertions),
    ]


def double(x):
    small(x, law=LARGEST)
    return x * 2


jitted_double = jax.jit(double)


BY_SIZE = {
    size: jax.jit(with_runtime_assertions(partial(lax.map, double, batch_size=size)))
    for size in (DIVIDES, HAS_REST)
}


@pytest.mark.parametrize(
    ("length", "size"), [(6, 1), (6, 2), (6, 3), (6, 4), (6, 5), (6, 6), (5, 2), (5, 4), (5, 5)]
)
def test_lengths_and_sizes(length, size):
    def one(x):
        small(x, name="a", law=FIRST)
        small(x, name="b", law=LARGEST)
        small(x - 5, name="c")
        return x * 2

    run = jax.jit(with_runtime_assertions(lambda xs: lax.map(one, xs, batch_size=size)))
    value, assertions = run(XS[:length])
    np.testing.assert_array_equal(value, 2 * XS[:length])
    expected = [
        fails("a is 7.0", iteration=[1], fix=7.0),
        fails("b is 7.0", iteration=[1], fix=9.0),
        passes(),
    ]
    assert len(assertions) == 3
    for assertion, one_of_them in zip(assertions, expected, strict=True):
        compare(assertion, one_of_them)


@sizes
def test_eagerly(size):
    """Not compiled as a whole, as a user tries it first."""
    value, (assertion,) = with_runtime_assertions(partial(lax.map, double, batch_size=size))(XS)
    np.testing.assert_array_equal(value, 2 * XS)
    compare(assertion, fails("x is 7.0", iteration=[1], fix=9.0))


@pytest.mark.parametrize("at", range(6))
@sizes
def test_iteration_is_the_index_of_the_element(size, at):
    _, (assertion,) = BY_SIZE[size](jnp.zeros(6).at[at].set(9.0))
    compare(assertion, fails("x is 9.0", iteration=[at], fix=9.0))


def scans(x):
    return lax.scan(lambda c, i: (c + double(x + i), None), 0.0, jnp.arange(3.0))[0]


def loops(x):
    def body(state):
        return state[0] + 1, double(state[1])

    return lax.while_loop(lambda state: state[0] < x, body, (0.0, x))[1]


def branches(x):
    return lax.cond(x > 6, double, lambda x: (small(x, name="other"), x)[1], x)


def maps_lanes(x):
    return jax.vmap(double)(jnp.stack([x - 1, x + 1])).sum()


def asserts_twice(x):
    return double(x - 2) + double(x)


def asserts_an_array(x):
    small(jnp.stack([x, x + 1, 0.0]))
    return x


def differentiates(x):
    return jax.grad(lambda x: double(x) ** 2)(x)


def asserts_what_no_element_changes(x):
    double(jnp.float32(8))
    return double(x)


FUNCTIONS = [
    scans, loops, branches, maps_lanes, asserts_twice, asserts_an_array, differentiates,
    asserts_what_no_element_changes, jitted_double,
]  # fmt: skip


@sizes
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_what_is_mapped(function, size):
    assert outcome(partial(lax.map, function, batch_size=size), XS) == outcome(
        partial(lax.map, function), XS
    )


def vmapped(run, xs):
    return jax.vmap(lambda shift: run(xs + shift))(jnp.array([-9.0, 0.0, 1.0]))


def scanned(run, xs):
    return lax.scan(lambda c, shift: (c, run(xs + shift)), None, jnp.array([-9.0, 0.0, 1.0]))[1]


AROUND = {
    "vmap": vmapped,
    "scan": scanned,
    "vmap_of_scan": lambda run, xs: vmapped(partial(scanned, run), xs),
    "jit": lambda run, xs: jax.jit(run)(xs),
    "grad": lambda run, xs: jax.grad(lambda xs: (run(xs) ** 2).sum())(xs),
    "checkpoint": lambda run, xs: jax.checkpoint(run)(xs),
    "grad_of_checkpoint": lambda run, xs: jax.grad(lambda xs: jax.checkpoint(run)(xs).sum())(xs),
    "cond": lambda run, xs: lax.cond(xs[0] > 0, run, lambda xs: xs, xs),
}


@sizes
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_what_is_around(around, size):
    """With a loop inside, so that the path has parts on both sides of the map's."""
    batched = partial(lax.map, scans, batch_size=size)
    assert outcome(partial(around, batched), XS) == outcome(
        partial(around, partial(lax.map, scans)), XS
    )


FIRST_MAP = fails("x is 7.0", iteration=[1], fix=9.0)
YS = jnp.array([0.0, 2.0, 8.0, 1.0, 3.0, 0.0])
SECOND_MAP = fails("x is 8.0", iteration=[2], fix=8.0)
# As many as are in a batch of two, and as are left over by batches of four.
PAIR = jnp.array([1.0, 8.0])
LANES = fails("x is 8.0", predicate=[True, False], lane=[1], fix=8.0)


def check(program, expected):
    _, assertions = jax.jit(with_runtime_assertions(program))()
    assert len(assertions) == len(expected), "\n".join(map(str, assertions))
    for assertion, one in zip(assertions, expected, strict=True):
        compare(assertion, one)


@pytest.mark.parametrize(
    ("one", "other"), [(DIVIDES, HAS_REST), (HAS_REST, DIVIDES), (HAS_REST, 5), (3, DIVIDES)]
)
@pytest.mark.parametrize("function", [double, jitted_double], ids=["bare", "jitted"])
def test_two_maps_of_the_same_function(function, one, other):
    def program():
        lax.map(function, XS, batch_size=one)
        lax.map(function, YS, batch_size=other)

    check(program, [FIRST_MAP, SECOND_MAP])


@sizes
@pytest.mark.parametrize("function", [double, jitted_double], ids=["bare", "jitted"])
def test_a_function_that_is_also_used_outside(function, size):
    def program():
        function(jnp.array(5.0))
        lax.map(function, XS, batch_size=size)
        function(jnp.array(6.0))

    check(program, [fails("x is 5.0", fix=5.0), FIRST_MAP, fails("x is 6.0", fix=6.0)])


@sizes
@pytest.mark.parametrize("function", [double, jitted_double], ids=["bare", "jitted"])
def test_a_vmap_stays_a_vmap(function, size):
    """Though its lanes are as many as the elements of a batch, or those after the batches."""

    def program():
        jax.vmap(function)(PAIR)
        lax.map(function, XS, batch_size=size)
        jax.vmap(function)(PAIR)

    check(program, [LANES, FIRST_MAP, LANES])


@sizes
def test_failures_only_in_the_rest_or_only_before_it(size):
    run = BY_SIZE[size]
    for xs, iteration, largest in [
        ([0.0, 0.0, 0.0, 0.0, 6.0, 8.0], 4, 8.0),
        ([6.0, 8.0, 7.0, 0.0, 0.0, 0.0], 0, 8.0),
        ([0.0, 0.0, 0.0, 6.0, 9.0, 0.0], 3, 9.0),
    ]:
        _, (assertion,) = run(jnp.array(xs))
        compare(assertion, fails("x is 6.0", iteration=[iteration], fix=largest))
    _, (assertion,) = run(jnp.zeros(6))
    compare(assertion, passes())


@sizes
def test_trees_of_arrays(size):
    def one(pair):
        small(pair["x"] * pair["v"][1])
        return pair["v"] * pair["x"]

    xs = {"x": XS, "v": jnp.stack([XS, jnp.ones(6)], axis=1)}
    assert outcome(partial(lax.map, one, batch_size=size), xs) == outcome(partial(lax.map, one), xs)
