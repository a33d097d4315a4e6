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
