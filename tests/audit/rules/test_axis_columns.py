"""Columns that meet a row, where there are several of them."""

from textwrap import dedent

import jax
import pytest

from .claims import assert_claims


@pytest.fixture(autouse=True)
def promoted():
    with jax.numpy_rank_promotion("allow"):
        yield


MEMBERS = """
def member(w, x):
    return jnp.tanh(x @ w["inner"]) @ w["outer"]

def entry(ws, x, y):
    given = jax.vmap(member, in_axes=(0, None))(ws, x)
    gap = given - y  # AX002
    return 0.5 * jnp.mean(gap * gap)

def inputs():
    ws = {"inner": jnp.ones((3, 4, 7)), "outer": jnp.ones((3, 7, 1))}
    return ws, jnp.ones((6, 4)), jnp.ones(6)
"""


def test_several_columns_meet_a_row():
    assert_claims("axis", MEMBERS)
    assert_claims("axis", MEMBERS.replace("- y  # AX002", "- y[:, None]"))
    assert_claims("axis", MEMBERS.replace("- y  # AX002", "- y").replace("(6, 4)", "(5, 4)"))
    kept = "given.mean(0).mean(-1, keepdims=True) - y"
    assert_claims("axis", MEMBERS.replace("given - y", kept))


def test_sizes_that_are_equal_by_chance_are_no_accident():
    program = """
    def entry(series, scales):
        return jnp.tanh(series * scales).sum(axis=1)

    def inputs():
        return jnp.ones((2, 5, 1)), jnp.ones(5)
    """
    assert_claims("axis", dedent(program))
