"""Assertions in branches: what was not taken passes."""

from functools import partial

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from verax import runtime_assert, with_runtime_assertions
from verax.runtime import LARGEST

from .cases import Table, fails, passes, small

table = Table()


def either(chosen, x):
    """Branches come out in the order of their index: `False` before `True`."""

    def left(x):
        small(x, name="left")
        small(x + 1, name="left again")
        return x * 2

    def right(x):
        small(x, name="right")
        return x * 3

    return lax.cond(chosen, left, right, x)


table(True, 9.0, calm=(False, 1.0), name="cond_true", expect=[
    passes(), fails("left is 9.0", fix=9.0), fails("left again is 10.0", fix=10.0)
])(either)  # fmt: skip
table(False, 9.0, name="cond_false", expect=[
    fails("right is 9.0", fix=9.0), passes(), passes()
])(either)  # fmt: skip
table(True, 1.0, name="cond_calm", expect=[passes(), passes(), passes()])(either)


@table(True, 9.0, expect=[fails("x is 9.0", fix=9.0)])
def assertion_in_one_branch_only(chosen, x):
    return lax.cond(chosen, lambda x: (small(x), x)[1], lambda x: x, x)


@table(False, 9.0, expect=[passes()])
def assertion_in_the_other_branch(chosen, x):
    return lax.cond(chosen, lambda x: (small(x), x)[1], lambda x: x, x)


def four_branches(index, x):
    """Payloads of different shapes and kinds."""

    def scalar(x):
        small(x, name="scalar")
        return x

    def vector(x):
        v = jnp.stack([x, x + 1])
        small(v, name="vector")
        return v.sum()

    def nothing(x):
        return -x

    def whole(x):
        n = x.astype(jnp.int32)
        runtime_assert(
            n < 5,
            "whole {n} of {d}",
            {"n": n, "d": {"a": n, "b": n == 9}},
            ValueError,
            fix_fn=lambda s, n: n,
            fix_args=(n, n + 1),
        )
        small(x, name="last")
        return x * x

    return lax.switch(index, [scalar, vector, nothing, whole], x)


FOUR = {
    0: [fails("scalar is 9.0", fix=9.0), passes(2), passes(), passes()],
    1: [
        passes(),
        fails("vector is [ 9. 10.]", predicate=[False, False], fix=jnp.array([9.0, 10.0])),
        passes(),
        passes(),
    ],
    2: [passes(), passes(2), passes(), passes()],
    3: [
        passes(),
        passes(2),
        fails("whole 9 of {'a': 9, 'b': True}", fix=(9, 10)),
        fails("last is 9.0"),
    ],
}
for index, expected in FOUR.items():
    calm = (1, 2.0) if index == 3 else None
    table(index, 9.0, calm=calm, expect=expected, name=f"switch_{index}")(four_branches)
# An index out of range takes the nearest branch.
table(7, 9.0, expect=FOUR[3], name="switch_above")(four_branches)


@table([1.0, 7.0, 9.0, 6.0], calm=([1.0, 2.0, 3.0, 4.0],), expect=[
    fails("even is 9.0", iteration=[2], fix=9.0), fails("odd is 7.0", iteration=[1], fix=7.0)
])  # fmt: skip
def cond_in_scan(xs):
    def body(i, x):
        even, odd = partial(small, name="even", law=LARGEST), partial(small, name="odd")
        lax.cond(i % 2 == 1, lambda: odd(x), lambda: even(x))
        return i + 1, x

    return lax.scan(body, 0, xs)


@table([1.0, 7.0, 9.0], expect=[fails("x is 9.0", iteration=[1, 2], fix=9.0)])
def scan_in_cond_in_while(xs):
    """A branch holds a loop; another loop is around it. The first round takes the other branch."""

    def inner(xs):
        return lax.scan(lambda _, x: (small(jnp.where(x > 8, x, 0)), x), None, xs)[1].sum()

    def body(state):
        i, total = state
        return i + 1, total + lax.cond(i == 1, inner, lambda xs: xs[0], xs)

    return lax.while_loop(lambda state: state[0] < 3, body, (0, 0.0))


@table(True, False, 9.0, expect=[passes(), fails("inner is 9.0", fix=9.0), passes()])
def cond_in_cond(outer, inner, x):
    def first(x):
        return lax.cond(
            inner,
            lambda x: (small(x, name="not this"), x)[1],
            lambda x: (small(x, name="inner"), x + 1)[1],
            x,
        )

    return lax.cond(outer, first, lambda x: (small(x), x)[1], x)


@table.in_all_modes()
def test_branches(case, mode):
    case.check(mode)


def test_exception_type_of_a_branch():
    _, (*_, assertion, _) = with_runtime_assertions(four_branches)(jnp.array(3), jnp.array(9.0))
    with pytest.raises(ValueError, match=r"whole 9 of"):
        assertion.check()


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_constant_predicate_of_a_cond(jit):
    """A branch that is chosen while tracing is the only one that is met."""

    def program(x):
        return lax.cond(True, lambda x: (small(x), x)[1], lambda x: x * 2, x)

    value, assertions = jit(with_runtime_assertions(program))(jnp.array(9.0))
    assert value == 9
    assert [a.failed for a in assertions] == [True]
