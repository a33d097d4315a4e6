"""Carries of integers that cut the floats which are put into them."""

import pytest

from .reading import found

LEVELS = """
    def levels(cells, shares):
        board = jnp.zeros(5, jnp.int32)

        def step(board, one):
            cell, share = one
            return board.at[cell].add((0.3 * share).astype(board.dtype)), None

        return lax.scan(step, board, (cells, shares))[0]

    levels(jnp.arange(4), jnp.ones(4))
"""
CAST = "(0.3 * share).astype(board.dtype)"


def test_shares_are_cut_before_they_are_added():
    assert found("SC301", LEVELS) == [2]
    assert found("SC301", LEVELS.replace("5, jnp.int32", "5")) == []


@pytest.mark.parametrize(
    "whole",
    [
        "(0.3 * share).astype(jnp.int32)",
        "(share > 0.3).astype(board.dtype)",
        "jnp.round(0.3 * share).astype(board.dtype)",
        "jnp.ones_like(share).astype(board.dtype)",
    ],
)
def test_whole_numbers_and_types_that_are_named_are_meant(whole: str):
    assert found("SC301", LEVELS.replace(CAST, whole)) == []


@pytest.mark.parametrize(
    "update",
    [
        "board + (share / 3).astype(board.dtype)",
        "board.at[cell].set(0.9 * board[cell] + share)",
        "jnp.mean(jnp.stack([board, board + cell]), axis=0).astype(board.dtype)",
        "jnp.maximum(board, share).astype(board.dtype)",
    ],
)
def test_fractions_come_about_in_many_ways(update: str):
    program = LEVELS.replace(f"board.at[cell].add({CAST})", update)
    assert found("SC301", program) == [2]


def test_a_start_that_numpy_makes_is_mended_there():
    program = """
        def decayed(xs):
            start = np.zeros(3, np.int32)

            def step(level, x):
                return (0.9 * level + x).astype(level.dtype), None

            return lax.scan(step, jnp.asarray(start), xs)[0]

        decayed(jnp.ones((4, 3)))
    """
    assert found("SC301", program) == [2]
    assert found("SC301", program.replace("np.int32", "np.float32")) == []


def test_what_starts_as_a_list_of_numbers_is_told_where_the_list_is():
    program = """
        def total(xs):
            start = jnp.array([0, 0, 0])
            return lax.scan(lambda level, x: (level + 0.5 * x, None), start, xs)[0]

        total(jnp.ones((4, 3)))
    """
    assert found("SC201", program) == [2]
