"""Leaves and structures that are kept apart for a while."""

import pytest

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "values in the order of writing": """
    def entry(params):
        _, treedef = jax.tree.flatten(params)
        return treedef.unflatten([0.5 * it for it in params.values()])  # PT102

    def inputs():
        return ({"up": jnp.ones(2), "down": jnp.zeros(2)},)
    """,
    "leaves turned round": """
    def entry(pair):
        leaves, treedef = jax.tree.flatten(pair)
        first, second = leaves
        return jax.tree.unflatten(treedef, [2.0 * second, 2.0 * first])  # PT102

    def inputs():
        return ((jnp.ones(2), jnp.zeros(2)),)
    """,
    "leaves of another kind of tree": """
    from typing import NamedTuple

    class Affine(NamedTuple):
        weight: jax.Array
        bias: jax.Array

    def entry(affine, saved):
        leaves = jax.tree.leaves(affine)
        return jax.tree.unflatten(jax.tree.structure(saved), leaves)  # PT102

    def inputs():
        affine = Affine(jnp.ones(3), jnp.zeros(3))
        return affine, {"weight": jnp.ones(3), "bias": jnp.zeros(3)}
    """,
    "factors of a dict meet leaves": """
    SCALES = {"weight": 2.0, "bias": 1.0}

    def entry(params):
        pairs = zip(jax.tree.leaves(params), SCALES.values())  # PT102
        return [leaf * scale for leaf, scale in pairs]

    def inputs():
        return ({"weight": jnp.ones(3), "bias": jnp.zeros(3)},)
    """,
    "slices of a flat array": """
    from jax.flatten_util import ravel_pytree

    def start(width):
        return {"slope": jnp.ones((2, width)), "bias": jnp.zeros(width), "curve": jnp.ones(width)}

    class Fit:
        def __init__(self, width):
            self.width = width
            self.flat, self.restore = ravel_pytree(start(width))

        def energy(self, flat, x):
            bias = flat[: self.width]
            curve = flat[self.width : 2 * self.width]
            slope = flat[2 * self.width :].reshape(2, self.width)
            return jnp.sum(x @ slope + bias + curve * x[:, :1] ** 2)

        def swapped(self, flat, x):
            curve = flat[: self.width]  # PT102
            bias = flat[self.width : 2 * self.width]
            return jnp.sum(bias + curve * x[:, :1] ** 2)

    def entry(x):
        fit = Fit(x.shape[1])
        body = lambda _, flat: flat - 0.1 * jax.grad(fit.energy)(flat, x)
        last = jax.lax.fori_loop(0, 5, body, fit.flat)
        head, tail = last[:2], last[2:]
        return fit.swapped(last, x), fit.restore(last)["curve"], head, tail

    def inputs():
        return (jnp.ones((3, 2)),)
    """,
    "slices of a flat array by the sizes of leaves": """
    from jax.flatten_util import ravel_pytree

    def entry(params, x):
        flat, _ = ravel_pytree(params)
        first, second = jnp.split(flat, [6])  # PT102
        return x @ first.reshape(3, 2) + second

    def inputs():
        return {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(2)}, jnp.ones((4, 3))
    """,
    "slices of a flat array in a loop": """
    import math
    from jax.flatten_util import ravel_pytree

    SHAPES = {"weight": (3, 2), "bias": (2,)}

    def entry(params, x):
        flat, _ = ravel_pytree(params)
        again, offset = {}, 0
        for name, shape in SHAPES.items():
            size = math.prod(shape)
            again[name] = flat[offset : offset + size].reshape(shape)  # PT102
            offset += size
        return x @ again["weight"] + again["bias"]

    def inputs():
        return {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(2)}, jnp.ones((4, 3))
    """,
    "shapes of a tree mapped by size": """
    from functools import partial
    import numpy as np

    def fill(shape, value=0.0):
        return jnp.full(shape, value)

    class Cell:
        def __init__(self, width):
            self.shapes = {"gate": {"w": (3, width), "b": (width,)}, "out": {"w": (width, 1)}}

        def traces(self):
            return jax.tree.map(partial(fill, value=1.0), self.shapes)  # PT207

        def count(self):
            return sum(jax.tree.leaves(jax.tree.map(np.prod, self.shapes)))  # PT207

    def entry():
        return Cell(4).traces(), Cell(4).count()

    def inputs():
        return ()
    """,
    "shapes of a tree flattened to sizes": """
    SHAPES = {"w": (3, 2), "b": (2,)}

    def entry(key):
        leaves, treedef = jax.tree.flatten(SHAPES)  # PT207
        keys = jax.random.split(key, len(leaves))
        drawn = [jax.random.normal(k, shape) for k, shape in zip(keys, leaves)]
        return jax.tree.unflatten(treedef, drawn)

    def inputs():
        return (jax.random.key(0),)
    """,
    "leaves that are made of others by key": """
    def smaller(value, grad):
        return value - 0.1 * jnp.sign(grad)

    def entry(coef, grads):
        treedef = jax.tree.structure(coef)
        fresh = [smaller(coef["slope"], grads["slope"]), coef["offset"] - grads["offset"]]
        right = [coef["offset"] - grads["offset"], smaller(coef["slope"], grads["slope"])]
        both = [coef["offset"] - grads["slope"], smaller(coef["slope"], grads["slope"])]
        again = jax.tree.unflatten(treedef, right), jax.tree.unflatten(treedef, both)
        return jax.tree.unflatten(treedef, fresh), again  # PT102

    def fit(x, steps):
        coef = {"slope": jnp.ones(3), "offset": jnp.zeros(3)}
        for _ in range(steps):
            loss = lambda it: jnp.sum(it["slope"] * x + it["offset"])
            coef, _ = entry(coef, jax.grad(loss)(coef))
        return coef
    """,
    "pieces of a flat array": """
    from jax.flatten_util import ravel_pytree

    PARTS = ["scale", "offset"]

    def entry(params):
        flat, unravel = ravel_pytree(params)
        moved = 0.9 * flat
        again = {name: part for name, part in zip(PARTS, jnp.split(moved, 2))}  # PT102
        whole = unravel(moved)
        listed = dict(zip(PARTS, [whole["scale"], whole["offset"]]))
        return again, listed, dict(zip(sorted(PARTS), moved.reshape(2, 3)))

    def inputs():
        return ({"scale": jnp.ones(3), "offset": jnp.zeros(3)},)
    """,
    "parts that are listed by name": """
    from typing import NamedTuple

    class Stats(NamedTuple):
        mean: jax.Array
        var: jax.Array

    def entry(stats, weights, params):
        own = (weights.var, weights.mean)  # PT102
        mixed = [a * b for a, b in zip(jax.tree.leaves(stats), own)]
        named = [params["b"], params["w"]]
        return mixed, [a * b for a, b in zip(jax.tree.leaves(params), named)]

    def inputs():
        stats = Stats(jnp.ones(3), jnp.zeros(3))
        return stats, Stats(jnp.ones(3), jnp.ones(3)), {"w": jnp.ones(2), "b": jnp.ones(2)}
    """,
    "both children of a map": """
    def entry(params, velocity):
        moved = jax.tree.map(lambda p, v: (p - 0.1 * v, 0.9 * v), params, velocity)
        params, velocity = moved[0], moved[1]  # PT103
        return params, velocity

    def inputs():
        return (jnp.ones(2), jnp.ones(2)), (jnp.zeros(2), jnp.zeros(2))
    """,
    "taken apart after the map": """
    def descend(params, velocity):
        def move(p, v):
            return p - 0.1 * v, 0.9 * v

        return jax.tree.map(move, params, velocity)

    def entry(params, velocity):
        both = descend(params, velocity)
        params, velocity = descend(params, velocity)  # PT103
        return params, velocity

    def inputs():
        return (jnp.ones(2), jnp.ones(2)), (jnp.zeros(2), jnp.zeros(2))
    """,
    "a map leaves nothing": """
    FROZEN = {"stem": True, "head": False}

    def entry(params, grads):
        kept = jax.tree.map(lambda frozen, g: None if frozen else g, FROZEN, grads)  # PT203
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, kept)

    def inputs():
        tree = {"stem": jnp.ones(2), "head": jnp.ones(2)}
        return tree, tree
    """,
    "leaves beside fewer leaves": """
    FROZEN = {"body": False, "head": False, "stem": True}

    def entry(params, grads):
        kept = jax.tree.map(lambda frozen, g: None if frozen else g, FROZEN, grads)
        pairs = zip(jax.tree.leaves(params), jax.tree.leaves(kept))  # PT203
        return [p - 0.1 * g for p, g in pairs]

    def inputs():
        tree = {"stem": jnp.ones(2), "head": jnp.ones(2), "body": jnp.ones(2)}
        return tree, tree
    """,
}

RIGHT = {
    "shapes of a tree as leaves, and sizes as sizes": """
    SHAPES = {"w": (3, 2), "b": (2,)}
    WIDTHS = (4, 8)

    def is_shape(it):
        return isinstance(it, tuple)

    def entry(key):
        n, m = SHAPES["w"]
        most = max(jax.tree.leaves(SHAPES))
        doubled = jax.tree.map(lambda size: 2 * size, SHAPES)
        rows = jax.tree.map(lambda shape: jnp.zeros(shape[0]), SHAPES, is_leaf=is_shape)
        whole = jax.tree.map(jnp.zeros, SHAPES, is_leaf=is_shape)
        steps = jax.tree.map(jnp.zeros, {"fast": 3, "slow": 5})
        biases = jax.tree.map(jnp.zeros, WIDTHS)
        return jnp.zeros(m), jnp.ones(n), most, doubled, rows, whole, steps, biases

    def inputs():
        return (jax.random.key(0),)
    """,
    "slices of a flat array in the order of its leaves": """
    import numpy as np
    from jax.flatten_util import ravel_pytree

    SHAPES = {"weight": (3, 2), "bias": (2,)}

    def entry(params, x):
        flat, _ = ravel_pytree(params)
        again, offset = {}, 0
        for name in sorted(SHAPES):
            size = np.prod(SHAPES[name])
            again[name] = flat[offset : offset + size].reshape(SHAPES[name])
            offset += size
        bias_and_more, weight_end = flat[:4], flat[4:]
        return x @ again["weight"] + again["bias"], bias_and_more, weight_end

    def inputs():
        return {"weight": jnp.ones((3, 2)), "bias": jnp.zeros(2)}, jnp.ones((4, 3))
    """,
    "a dict that JAX has put together is sorted": """
    @jax.jit
    def named(params):
        sums = {name: leaf.sum() for name, leaf in zip(params, jax.tree.leaves(params))}
        for number, name in enumerate(params):
            sums[name] = sums[name] * number
        return sums, jax.tree.structure(params).unflatten(list(params.values()))

    def loss(params):
        again = jax.tree.unflatten(jax.tree.structure(params), list(params.values()))
        return jnp.sum(again["up"] - again["down"])

    def turned(params, _):
        return jax.tree.structure(params).unflatten([2.0 * it for it in params.values()]), None

    def entry(params):
        doubled = jax.tree.map(lambda it: 2.0 * it, params)
        last, _ = lax.scan(turned, params, None, length=2)
        grads = jax.grad(loss)(params)
        return named(params), dict(zip(doubled, jax.tree.leaves(doubled))), last, grads

    def inputs():
        return ({"up": jnp.ones(2), "down": jnp.zeros(2)},)
    """,
    "leaves go back": """
    def entry(params, noise):
        leaves, treedef = jax.tree.flatten(params)
        others = jax.tree.leaves(noise)
        moved = treedef.unflatten([a + b for a, b in zip(leaves, others)])
        again = [params[key] for key in sorted(params)]
        return moved, treedef.unflatten(others), treedef.unflatten(again)

    def inputs():
        tree = {"up": jnp.ones(2), "down": jnp.zeros(2)}
        return tree, {"up": jnp.zeros(2), "down": jnp.ones(2)}
    """,
    "every leaf is made of all": """
    def entry(params):
        leaves, treedef = jax.tree.flatten(params)
        total = sum(jnp.vdot(it, it) for it in leaves)
        return treedef.unflatten([it / total for it in leaves])

    def inputs():
        return ({"up": jnp.ones(2), "down": jnp.zeros(2)},)
    """,
    "rates that are sorted": """
    SCALES = {"bias": 1.0, "weight": 2.0}

    def entry(params):
        pairs = zip(jax.tree.leaves(params), SCALES.values())
        return [leaf * scale for leaf, scale in pairs]

    def inputs():
        return ({"weight": jnp.ones(3), "bias": jnp.zeros(3)},)
    """,
    "the children are wanted": """
    def entry(scale, shift):
        moments = jax.tree.map(lambda it: (it.mean(), it.var()), (scale, shift))
        of_scale, of_shift = moments
        return of_scale[0], of_shift[1]

    def inputs():
        return jnp.ones(2), jnp.zeros(2)
    """,
    "who asks for nothing": """
    FROZEN = {"stem": True, "head": False}

    def entry(params, grads):
        kept = jax.tree.map(lambda frozen, g: None if frozen else g, FROZEN, grads)
        norms = [jnp.sum(it**2) for it in jax.tree.leaves(kept)]
        moved = jax.tree.map(lambda p, g: p if g is None else p - 0.1 * g, params, kept)
        return moved, sum(norms), jax.tree.map(lambda g: 2.0 * g, kept)

    def inputs():
        tree = {"stem": jnp.ones(2), "head": jnp.ones(2)}
        return tree, tree
    """,
}


@pytest.mark.parametrize(
    ("names", "is_wrong"),
    [
        ("kp, kd", True),
        ("p, d", True),
        ("new_prop, new_deriv", True),
        ("gain, rate", True),
        ("kd, kp", False),
        ("first, second", False),
        ("d_rate, d_gain", False),
    ],
)
def test_short_names_for_the_leaves_of_others(names: str, is_wrong: bool):
    program = f"""
    def control(params, error):
        ({names}), _ = jax.tree.flatten(params)
        return error

    def entry(error):
        ones = jnp.ones(3)
        return control(dict(proportional_gain=ones, derivative_rate=2.0 * ones), error)
    """
    assert found("PT102", program) == ([2] if is_wrong else [])


@each_of(WRONG)
def test_leaves_that_lose_their_places(program: str):
    check_found(program, "pytree")


@each_of(RIGHT)
def test_leaves_that_keep_their_places(program: str):
    check_silent(program, "pytree")
    check_silent(program, "jit")


@pytest.mark.parametrize(
    ("rates", "lines"),
    [
        ("list(RATES.values())", [6]),
        ("[rate for rate in RATES.values()]", [6]),
        ("[rate for _, rate in (('out', 0.1), ('hid', 0.2))]", [6]),
        ("[RATES[name] for name in ('out', 'hid')]", [6]),
        ("[rate for _, rate in sorted(RATES.items())]", []),
        ("[rate for _, rate in (('hid', 0.2), ('out', 0.1))]", []),
        ("jax.tree.leaves(RATES)", []),
    ],
)
def test_numbers_that_are_listed_in_another_order_than_the_leaves(rates: str, lines: list[int]):
    program = f"""
    RATES = {{"out": 0.1, "hid": 0.2}}

    def step(params):
        leaves, treedef = jax.tree.flatten(params)
        rates = {rates}
        return treedef.unflatten([(1 - rate) * leaf for leaf, rate in zip(leaves, rates)])

    def entry(x, y):
        return step({{"out": x, "hid": y}})
    """
    assert found("PT102", program) == lines
