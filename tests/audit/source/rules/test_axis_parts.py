"""Reshapes whose sizes are products of parts of the old ones."""

import pytest

from .reading import found

TILES = """
    def tiles(fields, k):
        n, h, w = fields.shape
        rows, cols = h // k, w // k
        return jnp.reshape(fields, (n, rows * cols, k * k))
"""


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("k * k", "-1"),
        ("n, rows * cols, k * k", "n * cols, k, h"),
        ("fields, k):", "fields, k=4):"),
    ],
)
def test_parts_of_rows_beside_parts_of_columns(before, now):
    assert found("AX003", TILES) == [4]
    assert found("AX003", TILES.replace(before, now)) == [4]


def test_parts_of_rows_before_whole_columns():
    assert found("AX003", TILES.replace("rows * cols, k * k", "rows, cols * k * k")) == []


def test_parts_that_are_put_together():
    program = """
    def whole(tiles, h, w):
        n, rows, cols, k, l, chan = tiles.shape
        return tiles.reshape(n, rows * k, cols * l, chan)
    """
    assert found("AX003", program) == [3]
    turned = program.replace("tiles.reshape", "tiles.swapaxes(2, 3).reshape")
    assert found("AX003", turned) == []


@pytest.mark.parametrize(
    "sizes",
    [
        "b, t // k, k * d",
        "b * (t // k), k * d",
        "b * t // k, k, d",
        "b, 2 * t, d // 2",
        "b, t * k, d // k",
        "b, t, k, d // k",
        "k, b // k, t, d",
        "b * 4, t // 4, d",
    ],
)
def test_parts_of_one_axis_stay_where_they_were(sizes):
    program = f"""
    def parts(x, k):
        b, t, d = x.shape
        return x.reshape({sizes})
    """
    assert found("AX003", program) == []


def test_sizes_of_which_only_numbers_differ():
    program = """
    def parts(x):
        n = x.shape[0]
        return x.reshape(n, 6, 4)

    made = parts(jnp.ones((5, 4, 6)))
    pairs = jnp.ones((5, 4, 6)).reshape(5, 3, 8)
    """
    assert found("AX003", program.replace("6, 4)", "8, 3)")) == []
