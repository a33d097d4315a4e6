"""Elements at one place that a loop reads in each of its turns."""

import pytest

from .reading import found

COUNTED = """
    def roll(s, pushes):
        def step(s, i):
            return 0.9 * s + pushes[0], s

        return lax.scan(step, s, jnp.arange(pushes.shape[0]))
"""
FORI = """
    def roll(s, pushes):
        def step(i, s):
            return 0.9 * s + jnp.take(pushes, 0, axis=0)

        return lax.fori_loop(0, pushes.shape[0], step, s)
"""
CARRIED = """
    def roll(s, pushes):
        def step(carry, _):
            s, t = carry
            return (0.9 * s + pushes[:, 0], t + 1), s

        return lax.scan(step, (s, 0), None, length=pushes.shape[1])
"""


@pytest.mark.parametrize(
    ("program", "line", "row"),
    [
        (COUNTED, 3, ("pushes[0]", "pushes[i]")),
        (FORI, 3, ("pushes, 0,", "pushes, i,")),
        (CARRIED, 4, ("pushes[:, 0]", "pushes[:, t]")),
    ],
)
def test_a_loop_counts_rows_and_reads_one_of_them(program: str, line: int, row: tuple[str, str]):
    assert found("SC003", program) == [line]
    assert found("SC003", program.replace(*row)) == []


def test_a_count_of_something_else_says_nothing_of_the_rows():
    assert found("SC003", COUNTED.replace("jnp.arange(pushes.shape[0])", "jnp.arange(9)")) == []
    assert found("SC003", CARRIED.replace("pushes.shape[1]", "pushes.shape[0]")) == []
    assert found("SC003", FORI.replace("pushes.shape[0]", "s.shape[0]")) == []


def test_a_counter_that_is_not_wanted_has_no_name():
    assert found("SC003", COUNTED.replace("step(s, i)", "step(s, _)")) == []


def test_the_first_row_may_be_compared_with_the_others():
    assert found("SC003", COUNTED.replace("pushes[0]", "pushes[i] - pushes[0]")) == []


TAKEN = """
    def march(field, points, widths):
        near = points[0]

        def step(light, sample):
            point, width = sample
            return light * jnp.exp(-width * field(near)), light

        return lax.scan(step, 1.0, (points, widths)), near
"""


def test_an_element_that_was_taken_before_stands_for_the_slice():
    assert found("SC003", TAKEN) == [6]
    assert found("SC003", TAKEN.replace("field(near)", "field(point - near)")) == []
    assert found("SC003", TAKEN.replace("point, width =", "_, width =")) == []


def test_an_element_is_taken_by_a_function():
    taken = TAKEN.replace("field(near)", "field(lax.dynamic_index_in_dim(points, 0, axis=0))")
    assert found("SC003", taken) == [6]


def test_fields_that_come_along_need_not_be_read():
    whole = """
        class Batch(NamedTuple):
            x: jax.Array
            goal: jax.Array

        def run(s, batch: Batch):
            goal = batch.goal[0]

            def step(s, row):
                return 0.9 * s + row.x - goal, s

            return lax.scan(step, s, batch)
    """
    assert found("SC003", whole) == []
