"""`at`: entries of every array in a tree, compared with what NumPy does in place."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.state import IndexLens, bind, dataclass, lens

ARRAY = np.arange(24.0).reshape(4, 3, 2)
INDICES = {
    "integer": 2,
    "negative integer": -1,
    "slice": slice(1, 3),
    "slice with step": slice(None, None, -2),
    "ellipsis": ...,
    "last axis": (..., 1),
    "several integers": (1, 2, 0),
    "mixed": (slice(1, None), 0, ...),
    "integer array": np.array([3, 0]),
    "list": [3, 0],
    "two integer arrays": (np.array([0, 1]), np.array([2, 0])),
    "mask of rows": np.array([True, False, True, False]),
    "mask of entries": ARRAY % 5 == 0,
    "list of booleans": [False, True, True, False],
    "new axis": (None, 2),
}


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_reading_and_writing_agree_with_numpy(index):
    where = lens(lambda s: s["x"]).at(index)
    state = {"x": jnp.asarray(ARRAY), "y": 1}
    np.testing.assert_array_equal(where.get(state), ARRAY[index])
    new = -1.0 - ARRAY[index]
    expected = ARRAY.copy()
    expected[index] = new
    changed = where.set(state, jnp.asarray(new))
    np.testing.assert_array_equal(changed["x"], expected)
    assert changed["y"] == 1
    np.testing.assert_array_equal(where.get(changed), new)


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_a_scalar_fills_all_chosen_entries_also_under_jit(index):
    expected = ARRAY.copy()
    expected[index] = 7.0
    fill = jax.jit(lambda x: bind(x).at(index).set(7.0))
    np.testing.assert_array_equal(fill(jnp.asarray(ARRAY)), expected)


MASKS = {name: index for name, index in INDICES.items() if name.startswith("mask")}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_a_mask_may_be_computed_inside_jit_where_one_value_goes_everywhere(mask):
    expected = ARRAY.copy()
    expected[mask] = 7.0
    fill = jax.jit(lambda x, mask: bind(x).at(mask).set(7.0))
    np.testing.assert_array_equal(fill(jnp.asarray(ARRAY), mask), expected)


def test_a_computed_mask_takes_one_row_for_all_rows_but_not_one_for_each():
    rows = MASKS["mask of rows"]
    expected = ARRAY.copy()
    expected[rows] = [[1, 2], [3, 4], [5, 6]]
    fill = jax.jit(lambda mask, new: bind(jnp.asarray(ARRAY)).at(mask).set(new))
    np.testing.assert_array_equal(fill(rows, jnp.array([[1.0, 2], [3, 4], [5, 6]])), expected)
    with pytest.raises(jax.errors.NonConcreteBooleanIndexError):
        fill(rows, jnp.ones((4, 3, 2)))


def test_every_array_of_a_tree_is_indexed():
    @dataclass
    class Atoms:
        position: jax.Array
        charge: jax.Array

    atoms = Atoms(jnp.zeros((3, 2)), jnp.arange(3.0))
    one = bind(atoms).at(1).get()
    assert (one.position.shape, float(one.charge)) == ((2,), 1.0)
    changed = bind(atoms).at(1).set(Atoms(jnp.ones(2), jnp.array(9.0)))
    np.testing.assert_array_equal(changed.position, [[0, 0], [1, 1], [0, 0]])
    np.testing.assert_array_equal(changed.charge, [0, 9, 2])


def test_apply_reads_and_writes_the_same_entries():
    doubled = bind({"x": jnp.arange(4.0)}, lambda s: s["x"]).at([1, 3]).apply(lambda x: 2 * x)
    np.testing.assert_array_equal(doubled["x"], [0, 2, 2, 6])


def test_focus_goes_on_after_at():
    state = {"x": jnp.arange(4.0), "y": jnp.zeros(4)}
    changed = bind(state).at(2).focus(lambda s: s["y"]).set(5.0)
    np.testing.assert_array_equal(changed["y"], [0, 0, 5, 0])
    np.testing.assert_array_equal(changed["x"], [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("drop", [0, 1, 2]), ("clip", [0, 1, 9]), ("fill", [0, 1, 2]), (None, [0, 1, 2])],
)
def test_scatter_modes_out_of_bounds(mode, expected):
    x = jnp.arange(3.0)
    np.testing.assert_array_equal(bind(x).at(jnp.array([7]), mode=mode).set(9.0), expected)
    np.testing.assert_array_equal(bind(x).at(jnp.array([7]), {"mode": mode}).set(9.0), expected)


def test_reading_out_of_bounds_can_fill():
    filled = bind(jnp.arange(3)).at(jnp.array([1, 7]), mode="fill", fill_value=-1)
    np.testing.assert_array_equal(filled.get(), [1, -1])
    np.testing.assert_array_equal(filled.set(5), [0, 5, 2])


def test_an_index_of_arrays_is_data_for_jit_and_the_rest_is_not():
    traces = []

    @jax.jit
    def read(where, x):
        traces.append(1)
        return where.get(x)

    x = jnp.arange(12.0).reshape(4, 3)
    for rows in ([0, 1], [2, 3]):
        where = IndexLens((jnp.array(rows), slice(1, None)), {"mode": "clip"})
        np.testing.assert_array_equal(read(where, x), np.asarray(x)[rows, 1:])
    assert len(traces) == 1
    np.testing.assert_array_equal(read(IndexLens((..., 0)), x), x[:, 0])
    assert len(traces) == 2


def test_index_lenses_compare_by_index():
    assert IndexLens(slice(1, 2)) == IndexLens(slice(1, 2))
    assert hash(IndexLens(slice(1, 2))) == hash(IndexLens(slice(1, 2)))
    assert IndexLens(slice(1, 2)) != IndexLens(slice(1, 3))
    assert IndexLens([0, 1]) == IndexLens(jnp.array([0, 1]))
    assert IndexLens([0, 1]) != IndexLens([0, 2])
    assert IndexLens(0) != IndexLens(0, {"mode": "drop"})
    assert IndexLens(0) != IndexLens((0,))
