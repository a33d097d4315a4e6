"""Sums against exact arithmetic, membership against NumPy, keys against each other."""

import math
from fractions import Fraction
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.state import isin, kahan_summation, key_chain


def exact(numbers) -> float:
    return float(sum(map(Fraction, map(float, numbers))))


@pytest.mark.parametrize("jit", [False, True])
def test_a_compensated_sum_does_not_drift(jit):
    terms = np.random.default_rng(0).uniform(0, 1, 20_000).astype(np.float32)

    def step(carry, x):
        return kahan_summation(carry[0], x, compensate=carry[1]), None

    def total(terms):
        return jax.lax.scan(step, (jnp.float32(0), jnp.float32(0)), terms)[0][0]

    def drifting(terms):
        return jax.lax.scan(lambda sum, x: (sum + x, None), jnp.float32(0), terms)[0]

    wrap = jax.jit if jit else lambda f: f
    truth = exact(terms)
    half_a_step = np.spacing(np.float32(truth)) / 2
    assert abs(float(wrap(total)(terms)) - truth) <= 2 * half_a_step
    assert abs(float(wrap(drifting)(terms)) - truth) > 10 * half_a_step  # so the test can fail


def test_many_summands_in_one_call_and_over_trees():
    rng = np.random.default_rng(1)
    terms = rng.uniform(0, 1e4, 300).astype(np.float32)
    trees = [{"a": jnp.float32(t), "b": (jnp.array([t, -t]),)} for t in terms]
    total, lost = kahan_summation(*trees)
    truth = exact(terms)
    allowed = 2 * np.spacing(np.float32(truth))
    assert abs(float(total["a"]) - truth) <= allowed
    np.testing.assert_allclose(total["b"][0], [truth, -truth], atol=allowed, rtol=0)
    assert jax.tree.structure(lost) == jax.tree.structure(total)


@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_an_infinite_sum_stays_infinite(infinite):
    total, lost = kahan_summation(jnp.float32(1), jnp.float32(infinite), jnp.float32(2))
    total, lost = kahan_summation(total, jnp.float32(3), compensate=lost)
    assert (total, lost) == (infinite, 0)


def test_what_is_not_a_number_makes_no_number():
    total, _ = kahan_summation(jnp.float32(1), jnp.float32(np.nan), jnp.float32(2))
    assert np.isnan(total)


def test_the_compensation_is_what_is_missing():
    total, lost = kahan_summation(jnp.float32(2**24), jnp.float32(1))
    assert (float(total), float(lost)) == (2.0**24, -1.0)
    assert float(kahan_summation(total, jnp.float32(1), compensate=lost)[0]) == 2**24 + 2


def test_one_summand_is_its_own_sum_and_none_is_an_error():
    assert kahan_summation(3.0) == (3.0, 0.0)
    with pytest.raises(ValueError, match="at least one summand"):
        kahan_summation()


@given(
    st.lists(
        st.integers(0, 40), min_size=7, max_size=7
    ),  # of one length, so that JAX compiles once
    st.lists(st.integers(0, 40), min_size=5, max_size=5),
    st.sampled_from([np.int8, np.uint32]),
)
def test_membership_agrees_with_numpy(a, b, dtype):
    a, b = np.array(a, dtype), np.array(b, dtype)
    found = isin(jnp.asarray(a), jnp.asarray(b), 41)
    np.testing.assert_array_equal(found, np.isin(a, b))


def test_membership_of_any_shape_and_under_jit():
    a = np.arange(12).reshape(3, 2, 2)
    b = np.array([[1, 3], [5, 11]])
    np.testing.assert_array_equal(jax.jit(isin, static_argnums=2)(a, b, 12), np.isin(a, b))


@pytest.mark.parametrize("bound", [0, 5, 300])
def test_what_is_out_of_bounds_is_never_found(bound):
    outside = jnp.array([-1, -5, bound, bound + 7])
    inside = jnp.arange(bound)
    assert not isin(outside, jnp.concatenate([outside, inside]), bound).any()
    assert isin(inside, jnp.concatenate([outside, inside]), bound).all()


def test_a_bound_that_the_type_cannot_hold():
    assert isin(jnp.array([-3, 7], jnp.int8), jnp.array([7, -3], jnp.int8), 300).tolist() == [
        False,
        True,
    ]


def test_membership_of_floats_is_refused():
    with pytest.raises(TypeError, match=r"b is float32\[2\]\. Use jnp\.isin"):
        isin(jnp.arange(3), jnp.ones(2), 3)


@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3)])
def test_a_chain_never_repeats_and_starts_again_the_same(make, shape):
    first = list(islice(key_chain(make(0), shape), 5))
    again = list(islice(key_chain(make(0), shape), 5))
    data = jax.random.key_data if make is jax.random.key else (lambda key: key)
    numbers = np.stack([data(key) for key in first])
    np.testing.assert_array_equal(numbers, np.stack([data(key) for key in again]))
    flat = {tuple(row) for row in numbers.reshape(-1, numbers.shape[-1]).tolist()}
    assert len(flat) == 5 * math.prod(shape)
    assert first[0].shape == (shape if make is jax.random.key else (*shape, 2))
    assert tuple(np.asarray(data(make(0))).tolist()) not in flat


def test_a_chain_under_jit_gives_the_same_keys():
    def two(key):
        return tuple(islice(key_chain(key), 2))

    inside, outside = jax.jit(two)(jax.random.key(3)), two(jax.random.key(3))
    assert all(
        bool(jnp.array_equal(jax.random.key_data(a), jax.random.key_data(b)))
        for a, b in zip(inside, outside, strict=True)
    )
