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


FIELDS = """
    class Batch(NamedTuple):
        x: jax.Array
        goal: jax.Array

    def run(s, batch):
        def step(s, row):
            return 0.9 * s + row.x - batch.goal[0], s

        return lax.scan(step, s + batch.goal[0], batch)

    run(jnp.zeros(2), Batch(jnp.ones((5, 2)), jnp.ones((5, 2))))
"""


def test_a_row_is_read_of_a_field_whose_slice_comes_in_a_record():
    assert found("SC003", FIELDS) == [7]
    assert found("SC003", FIELDS.replace("- batch.goal[0]", "- row.goal")) == []
    before = FIELDS.replace("    def step", "    goal = batch.goal[0]\n\n        def step")
    assert found("SC003", before.replace("- batch.goal[0]", "- goal")) == []


BESIDE = """
    def encode(batch, w, u):
        frames = jnp.log(batch["frames"])

        def step(h, frame):
            gate = jax.nn.sigmoid(frames[0] @ w + h @ u)
            return (1 - gate) * h + gate * jnp.tanh(frame @ w), h

        return lax.scan(step, jnp.zeros(4), frames)
"""


def test_a_row_is_worked_on_as_the_slice_is_beside_it():
    assert found("SC003", BESIDE) == [5]
    assert found("SC003", BESIDE.replace("frames[0] @ w", "frame @ w")) == []
    # Whoever takes it before the loop means it.
    before = BESIDE.replace("        def step", "        first = frames[0]\n\n        def step")
    assert found("SC003", before.replace("(frames[0] @", "(first @")) == []
    assert found("SC003", before) == [7]


def test_a_row_of_what_is_kept_in_a_dict_stands_beside_its_slice():
    whole = BESIDE.replace('jnp.log(batch["frames"])', 'dict(x=batch["frames"])')
    whole = whole.replace("frames[0]", 'frames["x"][0]').replace("frame @", 'frame["x"] @')
    assert found("SC003", whole) == [5]


@pytest.mark.parametrize(
    "meant",
    [
        "(frame - frames[0]) @ w + h @ u",
        "(h - frames[0]) @ u",
        "(frames[1] - frames[0]) * h",
        "h @ u + jnp.zeros_like(frames[0])",
        "jnp.where(frame > 0, frames[0], h)",
    ],
)
def test_a_row_beside_the_slice_may_be_what_others_are_compared_with(meant: str):
    assert found("SC003", BESIDE.replace("frames[0] @ w + h @ u", meant)) == []


MAPPED = """
    def scores(points, queries):
        origin = queries[0]

        def score(query):
            return jnp.sum((queries[0] - points) ** 2)

        return lax.map(score, jnp.abs(queries - origin))

    scores(jnp.ones((9, 2)), jnp.ones((7, 2)))
"""


def test_a_row_is_read_of_what_the_scanned_array_was_made_from_row_by_row():
    assert found("SC003", MAPPED) == [5]
    assert found("SC003", MAPPED.replace("(queries[0] -", "(query + queries[0] -")) == []
    # Of an array that was mixed, no row belongs to a turn.
    mixed = MAPPED.replace("jnp.abs(queries - origin)", "jnp.sort(queries, axis=0)")
    assert found("SC003", mixed) == []
