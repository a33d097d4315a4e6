"""Sizes against arithmetic with numbers in the place of their symbols."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.audit.source.shapes.dims import (
    Dim,
    Size,
    add,
    at_least,
    at_least_one,
    differ,
    exact_quotient,
    floordiv,
    minimum,
    mul,
    same,
    show,
    sub,
    symbol,
)
from verax.audit.source.shapes.substitution import substitute

n, m, k = symbol("n"), symbol("m"), symbol("k")

values = st.fixed_dictionaries({name: st.integers(0, 30) for name in "nmk"})
leaves = st.sampled_from([n, m, k]) | st.integers(0, 7)
sizes = st.recursive(
    leaves,
    lambda inner: st.tuples(st.sampled_from([add, sub, mul]), inner, inner).map(
        lambda call: call[0](call[1], call[2])
    ),
    max_leaves=6,
).filter(lambda size: size is not None)


def at(size: Dim, numbers: dict[str, int]) -> int:
    result = substitute(size, numbers)
    assert type(result) is int
    return result


@given(sizes, sizes, values)
def test_arithmetic_is_that_of_numbers(a: Dim, b: Dim, numbers: dict[str, int]):
    x, y = at(a, numbers), at(b, numbers)
    assert at(add(a, b), numbers) == x + y
    assert at(sub(a, b), numbers) == x - y
    product = mul(a, b)
    assert product is None or at(product, numbers) == x * y
    smaller = minimum(a, b)
    # A size is not negative, and only of such is the smaller one asked.
    assert x < 0 or y < 0 or smaller is None or at(smaller, numbers) == min(x, y)


@given(sizes, st.integers(1, 6) | sizes, values)
def test_quotients_are_those_of_numbers(a: Dim, b: Dim, numbers: dict[str, int]):
    x, y = at(a, numbers), at(b, numbers)
    quotient, exact = floordiv(a, b), exact_quotient(a, b)
    if y > 0 and x >= 0:
        assert quotient is None or at(quotient, numbers) == x // y
        assert exact is None or at(exact, numbers) * y == x


@given(sizes, sizes)
def test_what_was_multiplied_can_be_divided(a: Dim, b: Dim):
    product = mul(a, b)
    if product is not None and b != 0:
        assert exact_quotient(product, b) == a


@given(sizes, sizes, values)
def test_comparisons_hold_for_all_numbers(a: Dim, b: Dim, numbers: dict[str, int]):
    x, y = at(a, numbers), at(b, numbers)
    assert same(a, b) in (None, x == y)
    assert at_least(a, b) in (None, x >= y)
    assert at_least_one(a) in (None, x >= 1)


@given(sizes, sizes, st.fixed_dictionaries({name: st.integers(50, 90) for name in "nmk"}))
def test_sizes_that_differ_do_so_for_large_numbers(a: Dim, b: Dim, numbers: dict[str, int]):
    assert not differ(a, b) or at(a, numbers) != at(b, numbers)


@given(sizes, sizes, sizes)
def test_equal_sizes_are_equal_objects(a: Dim, b: Dim, c: Dim):
    assert add(a, add(b, c)) == add(add(c, a), b)
    left = mul(a, add(b, c))
    right = add(mul(a, b), mul(a, c))
    if left is not None and right is not None:
        assert left == right
        assert hash(left) == hash(right)


@pytest.mark.parametrize(
    ("a", "b", "answer"),
    [
        (n, n, True),
        (n, m, None),
        (n, add(n, 1), False),
        (n, mul(n, 2), None),
        (n, 3, None),
        (n, None, None),
        (add(n, 4), 3, False),
        (mul(n, m), mul(m, n), True),
    ],
)
def test_same(a: Dim, b: Dim, answer: bool | None):
    assert same(a, b) is answer
    assert same(b, a) is answer


def test_quotients_have_one_form():
    assert floordiv(mul(n, 2), 2) == n
    assert floordiv(add(mul(n, 2), 3), 2) == add(n, 1)
    assert floordiv(add(mul(n, 2), m), 2) == add(n, floordiv(m, 2))
    assert add(floordiv(n, 2), sub(n, floordiv(n, 2))) == n
    assert mul(floordiv(mul(n, -1), 2), -1) == floordiv(add(n, 1), 2)
    assert floordiv(mul(n, m), m) == n
    assert floordiv(n, 0) is None


def test_a_part_is_not_larger_than_the_whole():
    assert minimum(floordiv(n, 2), n) == floordiv(n, 2)
    assert minimum(minimum(n, m), n) == minimum(n, m)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, "?"),
        (3, "3"),
        (n, "n"),
        (add(mul(n, m), 1), "m*n + 1"),
        (sub(n, 1), "n - 1"),
        (mul(n, -2), "-2*n"),
        (floordiv(add(n, 1), 2), "(n + 1)//2"),
        (minimum(n, 8), "min(8, n)"),
    ],
)
def test_sizes_are_shown_as_they_are_written(size: Dim, text: str):
    assert show(size) == text


@given(sizes)
def test_sizes_survive_pickling(size: Dim):
    assert pickle.loads(pickle.dumps(size)) == size


def test_derived_sizes_survive_pickling():
    half = pickle.loads(pickle.dumps(floordiv(n, 2)))
    assert isinstance(half, Size)
    assert substitute(half, {"n": 9}) == 4
    assert substitute(half, {"n": mul(m, 2)}) == m


def test_a_share_differs_from_the_whole():
    assert differ(n, floordiv(n, 2))
    assert differ(floordiv(add(n, m), 3), add(n, m))
    assert not differ(n, floordiv(n, m))
    assert not differ(n, floordiv(m, 2))
