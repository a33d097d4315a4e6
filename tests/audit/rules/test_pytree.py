"""How trees are taken apart, and classes that hold arrays."""

from textwrap import dedent

import pytest

from .claims import assert_claims

_INPUT = "\n\ndef inputs():\n    return jnp.ones(3), jnp.zeros(3)\n"


def claims(program: str):
    return assert_claims("pytree", dedent(program) + _INPUT)


FOUND = {
    "a field that gets lost": """
        @jax.tree_util.register_pytree_node_class
        class Stats:
            def __init__(self, mean, eps=1e-5):
                self.mean, self.eps = mean, eps

            def tree_flatten(self):
                return (self.mean,), None

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)  # PT101

        def entry(x, y):
            stats = Stats(x, eps=0.1)
            return jax.jit(lambda s: s.mean + s.eps)(stats)
        """,
    "functions in the wrong order": """
        class Pair:
            def __init__(self, a, b):
                self.a, self.b = a, b

        def build(_, children):
            b, a = children  # PT101
            return Pair(a, b)

        jax.tree_util.register_pytree_node(Pair, lambda p: ((p.a, p.b), None), build)

        def entry(x, y):
            return jax.jit(lambda p: p.a - p.b)(Pair(x, y))
        """,
    "flattened and named": """
        def entry(x, y):
            (w, b), tree = jax.tree_util.tree_flatten({"w": x, "b": y})  # PT102
            return w - b
        """,
    "kept in a list first": """
        def entry(x, y):
            leaves = jax.tree.leaves({"w": x, "b": y})
            w, b = leaves  # PT102
            return w - b
        """,
    "a tuple of the tree taken for a pair": """
        def entry(x, y):
            layers = {"one": (x, y), "two": (y, x)}
            pairs = jax.tree.map(lambda p: (p - 1.0, 0.9 * p), layers)
            is_pair = lambda it: isinstance(it, tuple)
            new = jax.tree.map(lambda it: it[0], pairs, is_leaf=is_pair)  # PT103
            kept = jax.tree_util.tree_map(lambda it: it[1], pairs, is_leaf=is_pair)  # PT103
            return new, kept
        """,
    "the whole tree taken for a pair": """
        from typing import NamedTuple

        class Layer(NamedTuple):
            w: jax.Array
            b: jax.Array

        def halves(tree):
            return jax.tree.leaves(tree, lambda it: isinstance(it, tuple))  # PT103

        def entry(x, y):
            return halves(jax.tree.map(lambda p: (p / 2, -p / 2), Layer(x, y)))
        """,
    "a list of what was made in each layer": """
        def entry(x, y):
            parts = jax.tree.map(lambda p: [p, p * p], [x, {"y": y}])
            return jax.tree.map(len, parts, is_leaf=lambda it: type(it) is list)  # PT103
        """,
    "short names": """
        def entry(x, y):
            params, momentum = (x, y), (x, y)
            p_new, m_new = jax.tree.map(lambda p, m: (p - m, 0.9 * m), params, momentum)  # PT103
            return p_new, m_new
        """,
    "one array, and a tree of two": """
        def moved(leaf, momentum):
            new_leaf = leaf - momentum
            return new_leaf, 0.9 * momentum

        def entry(x, y):
            new_leaf, new_momentum = jax.tree.map(moved, x, y)
            both, velocity = (new_leaf, y), (new_momentum, y)
            both, velocity = jax.tree.map(moved, both, velocity)  # PT103
            return both, velocity
        """,
    "momentum": """
        def update(momentum, grad):
            return grad * 2.0, 0.9 * momentum + grad

        def entry(x, y):
            step, _ = update(x, y)  # PT105
            return step, x
        """,
    "momentum that is used for the step, and not kept": """
        def entry(x, y):
            velocity = 0.9 * x + y  # PT105
            return y - 0.1 * velocity, x
        """,
    "statistics beside a loss": """
        def loss(w, ema):
            return jnp.sum(w**2), 0.9 * ema + 0.1 * w

        def entry(x, y):
            (value, _), grads = jax.value_and_grad(loss, has_aux=True)(x, y)  # PT105
            return value, grads, y
        """,
    "statistics that a loop carries on as they were": """
        def loss(w, ema):
            return jnp.sum(w**2), 0.9 * ema + 0.1 * w

        def body(state, row):
            w, ema = state
            (value, _), grads = jax.value_and_grad(loss, has_aux=True)(w, ema)  # PT105
            return (w - row * grads, ema), value

        def entry(x, y):
            return jax.lax.scan(body, (x[0], y[0]), x)
        """,
    "a class of its own in a list": """
        class Layer:
            def __init__(self, w):
                self.w = w

        def entry(x, y):
            arrays = [it for it in jax.tree.leaves([Layer(x), y]) if hasattr(it, "shape")]  # PT104
            return sum(it.sum() for it in arrays)
        """,
    "a class in a tree that a helper is given": """
        class Layer:  # PT104
            def __init__(self, w):
                self.w = w

        def penalty(tree):
            return sum(it.sum() for it in jax.tree.leaves(tree) if hasattr(it, "shape"))

        def entry(x, y):
            return penalty([Layer(x), y])
        """,
    "a moving average by hand": """
        def update(ema, x):
            return x.sum(), {"ema": 0.9 * ema["ema"] + 0.1 * x}

        def entry(x, y):
            ema = {"ema": x}
            total, new = update({"ema": x}, y)  # PT105
            return total, x + 1.0
        """,
}


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND.keys())
def test_trees_that_go_wrong(program):
    claims(program)


SILENT = {
    "where a simulation ends, which its cost does not ask for": """
        def simulate(wanted, state, pushes):
            def step(state, push):
                state = state + 0.1 * (wanted - state) + push
                return state, jnp.sum((state - wanted) ** 2)

            return lax.scan(step, state, pushes)

        def cost(wanted, state):
            state, errors = simulate(wanted, state, jnp.ones((4, 3)))
            return errors.mean()

        def entry(x, y):
            value, slope = jax.value_and_grad(cost)(x, y)
            return x - 0.1 * slope, value
    """,
    "pairs by their own class, by tuples that the tree has none of, and layers as they are": """
        from typing import NamedTuple

        class Pair(NamedTuple):
            one: jax.Array
            other: jax.Array

        def entry(x, y):
            layers = [(x, y), {"x": x}]
            pairs = jax.tree.map(lambda p: Pair(p, -p), layers)
            ones = jax.tree.map(lambda it: it.one, pairs, is_leaf=lambda it: type(it) is Pair)
            split = jax.tree.map(lambda p: (p, -p), {"x": x, "y": [y]})
            others = jax.tree.map(lambda it: it[1], split, is_leaf=lambda it: type(it) is tuple)
            boxed = jax.tree.map(lambda p: [p, p], layers)
            depth = jax.tree.map(len, boxed, is_leaf=lambda it: type(it) in (tuple, dict))
            return ones, others, depth[0]
        """,
    "leaves under other names": """
        def entry(x, y):
            first, second = jax.tree.leaves({"w": x, "b": y})
            return first - second
        """,
    "leaves of a NamedTuple in its order": """
        from typing import NamedTuple

        class Params(NamedTuple):
            w: jax.Array
            b: jax.Array

        def entry(x, y):
            w, b = jax.tree.leaves(Params(x, y))
            return w - b
        """,
    "a class that says what a leaf is": """
        class Layer:
            def __init__(self, w):
                self.w = w

        def entry(x, y):
            is_layer = lambda it: isinstance(it, Layer)
            layers = jax.tree.leaves([Layer(x), Layer(y)], is_leaf=is_layer)
            return sum(it.w.sum() for it in layers)
        """,
    "a leaf that the mapped function takes apart": """
        class Updated:
            def __init__(self, w):
                self.w = w

        def entry(x, y):
            updated = jax.tree.map(lambda w: Updated(w * 2.0), {"a": x, "b": y})
            return jax.tree.map(lambda it: it.w, updated)
        """,
    "settings without arrays": """
        import dataclasses

        @dataclasses.dataclass
        class Config:
            rate: float

        def entry(x, y):
            leaves = jax.tree.leaves([Config(0.1), x])
            return leaves[1] * leaves[0].rate
        """,
    "pairs on purpose": """
        def entry(x, y):
            first, second = jax.tree.map(lambda a: (a, a + 1.0), (x, y))
            return first[0] + second[1]
        """,
    "momentum that is kept where the step counts": """
        def entry(x, y):
            velocity = 0.9 * x + y
            kept = jnp.where(y > 0, velocity, x)
            return y - 0.1 * velocity, kept, x
        """,
    "statistics that a loop renews, beside those that it starts from": """
        def loss(w, ema):
            return jnp.sum(w**2), 0.9 * ema + 0.1 * w

        def body(state, row):
            w, ema, first = state
            (value, ema), grads = jax.value_and_grad(loss, has_aux=True)(w, ema)
            (_, away), _ = jax.value_and_grad(loss, has_aux=True)(w, first)
            return (w - row * grads, ema, first), value + away.sum()

        def entry(x, y):
            return jax.lax.scan(body, (x[0], y[0], y[1]), x)
        """,
    "a hidden state that is looked at only": """
        def cell(h, x):
            new = jnp.tanh(h + x)
            return new.sum(), new

        def entry(x, y):
            value, _ = cell(x, y)
            return value, x
        """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_trees_that_are_fine(program):
    claims(program)


def test_audits_leave_the_classes_of_the_user_alone():
    from verax.audit.run import audit_source

    spaces = []
    source = dedent("""
        import jax, jax.numpy as jnp

        @jax.tree_util.register_pytree_node_class
        class Box:
            def __init__(self, low):
                self.low = low

            def tree_flatten(self):
                return (self.low,), None

            @classmethod
            def tree_unflatten(cls, aux, children):
                return cls(*children)

        own = Box.__init__

        def entry(x):
            return Box(x).low

        def inputs():
            collect(Box, own)
            return (jnp.ones(3),)
    """)
    import builtins

    builtins.collect = lambda cls, own: spaces.append((cls, own))
    try:
        audit_source(source)
    finally:
        del builtins.collect
    ((cls, own),) = spaces
    assert cls.__init__ is own
