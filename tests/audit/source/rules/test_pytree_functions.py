"""Ways to register classes, and functions over trees that get what they do not expect."""

from .reading import found


def test_a_class_is_registered_by_the_one_that_it_derives_from():
    program = """
    class Tree:
        def __init_subclass__(cls, **options):
            super().__init_subclass__(**options)
            jax.tree_util.register_pytree_node_class(cls)

    class Box(Tree):
        def __init__(self, low, high):
            self.low, self.high = low, high

        def tree_flatten(self):
            return (self.low, self.high), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            high, low = children
            return cls(low, high)

    @jax.jit
    def width(box):
        return box.high - box.low

    def entry(x):
        return width(Box(x, x + 1))
    """
    assert found("PT101", program) == [15]
    assert found("PT101", program.replace("high, low = ch", "low, high = ch")) == []
    assert found("PT201", program) == []


def test_classes_become_dataclasses_by_deriving():
    program = """
    import dataclasses

    class Tree:
        def __init_subclass__(cls, fields=(), **options):
            dataclasses.dataclass(cls)
            jax.tree_util.register_dataclass(cls, data_fields=list(fields), meta_fields=[])

    class State(Tree, fields=("x", "v")):
        x: jax.Array
        v: jax.Array

    def step(state, force):
        v = state.v + force
        return State(state.x + v, v), None

    def entry(forces):
        return jax.lax.scan(step, State(jnp.zeros(3), jnp.zeros(3)), forces)
    """
    assert found("PT101", program) == []
    assert found("PT201", program) == []
    assert found("PT101", program.replace('("x", "v")', '("x",)')) == [6]


def test_fields_that_a_registration_forgets():
    program = """
    import dataclasses
    import functools
    from typing import ClassVar

    @functools.partial(
        jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["name"]
    )
    @dataclasses.dataclass
    class Cart:
        x: jax.Array
        v: jax.Array
        name: str = "cart"
        dt: ClassVar[float] = 0.1
        cache: dict = dataclasses.field(init=False)

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class ByAnnotation:
        x: jax.Array
        name: str = dataclasses.field(metadata=dict(static=True))

    @dataclasses.dataclass
    class Given:
        x: jax.Array
        v: jax.Array

    jax.tree_util.register_dataclass(Given, FIELDS, ["v"])
    """
    assert found("PT101", program) == [5]
    assert found("PT101", program.replace('["x"]', '["x", "v"]')) == []


def test_arguments_of_tree_functions_are_swapped():
    program = """
    class Flattener:
        def __init__(self, template):
            self.leaves, self.treedef = jax.tree_util.tree_flatten(template)

        def back(self, vector):
            leaves, start = [], 0
            for leaf in self.leaves:
                leaves.append(vector[start : start + leaf.size])
                start += leaf.size
            return jax.tree_util.tree_unflatten(leaves, self.treedef)

    def halved(params):
        tree = {"a": params, "b": params}
        return jax.tree.map(tree, lambda it: 0.5 * it)

    def fine(params, others, make):
        leaves, treedef = jax.tree.flatten(params)
        whole = jax.tree.unflatten(jax.tree.structure(others), leaves)
        return whole, jax.tree.map(make(params), params), jax.tree.map(lambda a: a, params)
    """
    assert found("PT205", program) == [10, 14]


def test_keys_of_a_dict_that_a_comprehension_makes_of_names():
    program = """
    def init():
        return {name: {"kernel": jnp.ones(3), "bias": jnp.ones(1)} for name in ("in", "out")}

    def mask():
        return {name: {"kernel": 1.0} for name in ["in", "out"]}

    def decay(names):
        params = init()
        some = {name: 1.0 for name in names}
        few = {name: {"kernel": 1.0, "bias": 0.0} for name in ("in", "out") if name in names}
        jax.tree.map(lambda p, m: m * p, params, some)
        jax.tree.map(lambda p, m: m * p, params, few)
        return jax.tree.map(lambda p, m: m * p, params, mask())
    """
    assert found("PT203", program) == [13]


def test_a_list_of_trees_is_stacked_as_one_tree():
    program = """
    import numpy as np

    def collate(items):
        return jax.tree.map(np.stack, items)

    def join(episodes):
        return jax.tree.map(lambda *xs: jnp.concatenate(xs, axis=0), episodes)

    def fine(trees, batch):
        stacked = jax.tree.map(lambda *xs: jnp.stack(xs), *trees)
        lists = jax.tree.map(jnp.stack, batch, is_leaf=lambda it: isinstance(it, list))
        merged = jax.tree.map(jnp.concatenate, batch)
        zeros = jax.tree.map(lambda *_: 0.0, batch)
        return stacked, lists, merged, zeros, jax.tree.map(lambda *xs: max(*xs), batch)
    """
    assert found("PT206", program) == [4, 7]


def test_leaves_meet_keys_in_the_order_of_writing():
    program = """
    def norms(tree):
        leaves = jax.tree.leaves(jax.tree.map(jnp.linalg.norm, tree))
        return dict(zip(tree.keys(), leaves))

    def main(key):
        params = {"w": jax.random.normal(key, (3,)), "b": jnp.zeros(3)}
        return norms(params)
    """
    assert found("PT102", program) == [3]
    assert found("PT102", program.replace("tree.keys()", "sorted(tree)")) == []
    in_order = program.replace('"w": jax', '"a": jax')
    assert found("PT102", in_order) == []


def test_a_reduction_begins_with_a_leaf():
    program = """
    import functools

    def norm(tree):
        return jax.tree_util.tree_reduce(lambda s, x: s + jnp.sum(x**2), tree)

    def largest(leaves):
        return functools.reduce(lambda m, x: jnp.maximum(m, jnp.max(x)), leaves)

    def fine(tree):
        sums = jax.tree.map(jnp.sum, tree)
        total = jax.tree.reduce(lambda s, x: s + x, sums)
        joined = functools.reduce(jnp.logical_and, jax.tree.leaves(tree))
        return total, joined, jax.tree.reduce(lambda s, x: s + x.size, tree, 0)
    """
    assert found("PT108", program) == [4, 7]
