"""Tools for trees: mapping with alignment, scatter, joining, choosing, structures."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.state import (
    HasScatterArgs,
    SupportsTreeMatch,
    dataclass,
    field,
    tree_concat,
    tree_map,
    tree_scatter_set,
    tree_stack,
    tree_structure,
    tree_where_broadcast_last,
    tree_zeros_like,
)


@dataclass
class Labelled:
    """Integers that point into labels; two of them are comparable once they share the labels."""

    codes: jax.Array
    labels: tuple[str, ...] = field(static=True)

    def __tree_match__(self, *others):
        every = (self, *others)
        labels = tuple(sorted({label for one in every for label in one.labels}))
        tables = [np.array([labels.index(label) for label in one.labels]) for one in every]
        return tuple(
            Labelled(jnp.asarray(table)[one.codes], labels)
            for one, table in zip(every, tables, strict=True)
        )

    @property
    def words(self):
        return [self.labels[code] for code in self.codes]


class Opaque:
    """Aligns itself and is no pytree."""

    def __init__(self, unit, amount):
        self.unit, self.amount = unit, amount

    def __tree_match__(self, *others):
        return tuple(
            Opaque("g", one.amount * {"g": 1, "kg": 1000}[one.unit]) for one in (self, *others)
        )


@dataclass
class Padded:
    data: jax.Array
    inner: object = None

    @property
    def scatter_args(self):
        return {"mode": "clip"}


def labelled(words, labels):
    return Labelled(jnp.array([labels.index(word) for word in words]), labels)


def test_without_special_nodes_tree_map_is_jax_tree_map():
    trees = [{"x": (n, [n + 1]), "y": None} for n in (1, 10)]
    assert tree_map(lambda a, b: a * b, *trees) == jax.tree.map(lambda a, b: a * b, *trees)
    assert tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]


def test_labels_are_aligned_before_leaves_meet():
    one = {"x": labelled("bca", ("a", "b", "c")), "y": jnp.zeros(3)}
    other = {"x": labelled("bda", ("d", "b", "a")), "y": jnp.ones(3)}
    same = tree_map(lambda a, b: a == b, one, other)
    np.testing.assert_array_equal(same["x"].codes, [True, False, True])
    np.testing.assert_array_equal(same["y"], [False, False, False])
    assert same["x"].labels == ("a", "b", "c", "d")


def test_trees_are_joined_label_by_label():
    joined = tree_concat([labelled("ba", ("a", "b"))], [labelled("ca", ("c", "a"))])
    assert joined[0].words == ["b", "a", "c", "a"]
    stacked = tree_stack(labelled("ba", ("a", "b")), labelled("ca", ("c", "a")))
    assert [[stacked.labels[c] for c in row] for row in stacked.codes] == [["b", "a"], ["c", "a"]]


def test_a_tree_on_its_own_has_nothing_to_be_aligned_with():
    class Pair(tuple):
        def __tree_match__(self, other):
            raise AssertionError

    jax.tree_util.register_pytree_node(
        Pair, lambda pair: (pair, None), lambda _, parts: Pair(parts)
    )
    assert tree_map(lambda leaf: leaf + 1, [Pair((1, 2)), 3]) == [(2, 3), 4]


def test_trees_are_chosen_from_label_by_label():
    one = Labelled(jnp.array([0, 1]), ("b", "c"))
    other = Labelled(jnp.array([1, 0]), ("b", "a"))
    chosen = tree_where_broadcast_last(jnp.array([True, False]), one, other)
    assert chosen.words == ["b", "b"]
    assert tree_where_broadcast_last(jnp.array([False, True]), one, other).words == ["a", "c"]


def test_entries_are_set_label_by_label():
    row = Labelled(jnp.array([0, 1, 0]), ("b", "c"))
    new = Labelled(jnp.array([0]), ("a",))
    assert tree_scatter_set(row, new, jnp.array([1]), {}).words == ["b", "a", "b"]


def test_alignment_happens_inside_aligned_nodes_too():
    @dataclass
    class Outer:
        inner: Labelled
        scale: float

        def __tree_match__(self, *others):
            return tuple(Outer(one.inner, 10 * one.scale) for one in (self, *others))

    one, other = Outer(labelled("a", ("a",)), 1.0), Outer(labelled("a", ("b", "a")), 2.0)
    total = tree_map(lambda a, b: a + b, one, other)
    assert total.scale == 30.0
    np.testing.assert_array_equal(total.inner.codes, [0])  # both stand for "a", number 0 of a, b


def test_leaves_that_align_themselves_are_given_to_the_function():
    total = tree_map(lambda a, b: a.amount + b.amount, [Opaque("kg", 2)], [Opaque("g", 5)])
    assert total == [2005]
    whole = tree_map(
        lambda a, b: a.labels,
        labelled("a", ("a",)),
        labelled("b", ("b",)),
        is_leaf=lambda node: isinstance(node, Labelled),
    )
    assert whole == ("a", "b")


def test_protocols_recognise_their_nodes():
    assert isinstance(labelled("a", ("a",)), SupportsTreeMatch)
    assert not isinstance(Padded(jnp.zeros(1)), SupportsTreeMatch)
    assert isinstance(Padded(jnp.zeros(1)), HasScatterArgs)
    assert not isinstance({}, HasScatterArgs)


def test_scatter_sets_every_array_and_nodes_add_their_options():
    tree = {"plain": jnp.zeros(3), "padded": Padded(jnp.zeros(3), [jnp.zeros(3)])}
    new = jax.tree.map(lambda leaf: jnp.array([1.0, 2.0]), tree)
    done = tree_scatter_set(tree, new, jnp.array([0, 7]), {"mode": "drop"})
    np.testing.assert_array_equal(done["plain"], [1, 0, 0])
    np.testing.assert_array_equal(done["padded"].data, [1, 0, 2])  # the node clips
    np.testing.assert_array_equal(done["padded"].inner[0], [1, 0, 2])


def test_options_of_a_node_hold_below_it_only():
    @dataclass
    class Inner(Padded):
        @property
        def scatter_args(self):
            return {"mode": "drop"}

    tree = Padded(jnp.zeros(2), (Inner(jnp.zeros(2)), jnp.zeros(2)))
    done = tree_scatter_set(tree, jax.tree.map(lambda x: jnp.ones(1), tree), jnp.array([9]))
    np.testing.assert_array_equal(done.inner[0].data, [0, 0])
    np.testing.assert_array_equal(done.inner[1], [0, 1])


def test_joining_agrees_with_numpy():
    ones = [{"x": np.arange(6).reshape(2, 3) + n, "y": [np.arange(2) * n]} for n in range(3)]
    joined, stacked = tree_concat(*ones), tree_stack(*ones)
    np.testing.assert_array_equal(joined["x"], np.concatenate([one["x"] for one in ones]))
    np.testing.assert_array_equal(stacked["x"], np.stack([one["x"] for one in ones]))
    np.testing.assert_array_equal(stacked["y"][0], np.stack([one["y"][0] for one in ones]))


def test_keys_are_joined():
    joined = tree_concat(*(jax.random.split(jax.random.key(n), 2) for n in range(2)))
    assert joined.shape == (4,)
    assert jnp.issubdtype(joined.dtype, jax.dtypes.prng_key)


@pytest.mark.parametrize(
    ("join", "trees", "message"),
    [
        (tree_concat, [{"x": [1.0]}, {"x": [2.0]}], r"leaves at \['x'\]\[0\] have no axis"),
        (tree_concat, [jnp.ones((1, 2)), jnp.ones((1, 3))], "at the root have the shapes"),
        (tree_stack, [(1, jnp.ones(2)), (1, jnp.ones(3))], r"leaves at \[1\] .* must be the same"),
        (tree_concat, [], "tree_concat needs at least one tree"),
        (tree_stack, [], "tree_stack needs at least one tree"),
    ],
)
def test_what_cannot_be_joined_is_named(join, trees, message):
    with pytest.raises(ValueError, match=message):
        join(*trees)


def test_zeros_have_shapes_and_types_of_the_tree():
    tree = {"x": jnp.ones((2, 3), jnp.float16), "n": [jnp.array(3, jnp.int8)]}
    zeros = tree_zeros_like(tree)
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), zeros) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), tree
    )
    assert not any(leaf.any() for leaf in jax.tree.leaves(zeros))


def test_one_decision_holds_for_everything_behind_it():
    accept = np.array([[True, False], [False, True]])
    new = {"a": np.arange(4.0).reshape(2, 2), "b": np.arange(24.0).reshape(2, 2, 3, 2)}
    old = jax.tree.map(lambda leaf: -1 - leaf, new)
    chosen = jax.jit(tree_where_broadcast_last)(jnp.asarray(accept), new, old)
    for name in new:
        expected = old[name].copy()
        expected[accept] = new[name][accept]
        np.testing.assert_array_equal(chosen[name], expected)


def test_a_single_decision_chooses_whole_trees():
    chosen = tree_where_broadcast_last(
        jnp.array(False), {"a": jnp.ones((2, 2))}, {"a": jnp.zeros((2, 2))}
    )
    np.testing.assert_array_equal(chosen["a"], np.zeros((2, 2)))


def test_a_leaf_without_the_axes_of_the_decision_is_named():
    with pytest.raises(ValueError, match=r"accept has shape \(2,\), but the leaf at \['a'\]"):
        tree_where_broadcast_last(jnp.ones(2, bool), {"a": jnp.ones(())}, {"a": jnp.ones(())})


def test_structures_are_those_of_jax():
    tree = {"x": (1, 2), "y": [3]}
    assert tree_structure(tree) == jax.tree.structure(tree)
    assert tree_structure(tree).unflatten([7, 8, 9]) == {"x": (7, 8), "y": [9]}
    assert tree_structure(tree, is_leaf=lambda node: isinstance(node, tuple)).num_leaves == 2
