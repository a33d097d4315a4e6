"""Trees and classes, found by reading: registration, round trips, order, structure, state."""

import pytest

from .reading import found, found_of


def test_a_class_without_registration_crosses_boundaries():
    program = """
    from dataclasses import dataclass

    @dataclass
    class State:
        x: jax.Array

    class Model:
        def __init__(self, w):
            self.w = w

        @jax.jit
        def __call__(self, x):
            return x @ self.w

    def body(state, x):
        return State(state.x + x), None

    def run(xs):
        final, _ = lax.scan(body, State(jnp.zeros(3)), xs)
        return final

    def loss(state):
        return (state.x ** 2).sum()

    def gradient(x):
        return jax.grad(loss)(State(x)), jax.vmap(loss)(State(x))

    @jax.jit
    def pack(x):
        return {"state": State(x)}
    """
    assert found("PT201", program) == [11, 19, 26, 30]


def test_classes_that_are_registered_or_may_be():
    program = """
    from dataclasses import dataclass
    from typing import NamedTuple
    import chex
    import equinox as eqx
    import flax
    from elsewhere import Base, tree

    @jax.tree_util.register_dataclass
    @dataclass
    class A:
        x: jax.Array

    class B(NamedTuple):
        x: jax.Array

    class C(eqx.Module):
        x: jax.Array

    @flax.struct.dataclass
    class D:
        x: jax.Array

    @chex.dataclass
    class E:
        x: jax.Array

    class F(Base):
        pass

    @tree
    class G:
        pass

    @dataclass
    class H:
        x: jax.Array

    def register(cls):
        jax.tree_util.register_pytree_node(cls, lambda s: ((s.x,), None), lambda _, c: cls(*c))
        return cls

    register(H)

    @register
    class J:
        def __init__(self, x):
            self.x = x

    @dataclass(frozen=True)
    class Config:
        size: int

    f = jax.jit(lambda s, c: s.x * c.size, static_argnums=1)

    def main(x):
        config = Config(3)
        return [f(s, config) for s in (A(x), B(x), C(x), D(x), E(x), F(x), G(x), H(x), J(x))]
    """
    assert found("PT201", program) == []


def test_objects_are_bound_or_static_and_need_no_registration():
    program = """
    class Agent:
        def __init__(self, size):
            self.size = size
            self.step = jax.jit(self._step)

        def _step(self, x):
            return x * self.size

        @functools.partial(jax.jit, static_argnums=0)
        def act(self, x):
            return x + self.size

        def rollout(self, xs):
            return jax.vmap(self._step)(xs), self.act(xs), self.step(xs)
    """
    assert found("PT201", program) == []


def test_flatten_and_unflatten_of_functions_disagree():
    program = """
    class Pair:
        def __init__(self, first, second, scale=1.0):
            self.first = jnp.asarray(first)
            self.second = jnp.asarray(second)
            self.scale = scale

    jax.tree_util.register_pytree_node(
        Pair,
        lambda p: ((p.first, p.second), p.scale),
        lambda scale, children: Pair(children[1], children[0], scale),
    )

    @jax.tree_util.register_pytree_node_class
    class Lost:
        def __init__(self, mean, eps=1e-5):
            self.mean = mean
            self.eps = eps

        def tree_flatten(self):
            return (self.mean,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    @jax.tree_util.register_pytree_node_class
    class Count:
        def __init__(self, a, b):
            self.a, self.b = a, b

        def tree_flatten(self):
            return (self.a, self.b), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            a, b, c = children
            return cls(a, b)
    """
    assert found("PT101", program) == [10, 20, 36]


def test_flatten_and_unflatten_agree():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Moments:
        def __init__(self, mean, var, eps=1e-5, name="m"):
            self.mean, self.var = mean, var
            self.eps = eps
            self.name = name
            self.cache = None

        def tree_flatten(self):
            return (self.mean, self.var), {"eps": self.eps, "name": self.name}

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children, **aux)

    @jax.tree_util.register_pytree_node_class
    class Raw:
        def __init__(self, x, y):
            self.x = jnp.asarray(x)
            self.y = jnp.asarray(y)

        def tree_flatten(self):
            children = (self.x, self.y)
            return children, None

        @classmethod
        def tree_unflatten(cls, aux, children):
            new = object.__new__(cls)
            new.x, new.y = children
            return new
    """
    assert found("PT101", program) == []


def test_leaves_of_a_dict_and_their_names():
    program = """
    def f(x):
        params = {"scale": 2 * x, "offset": x + 1}
        scale, offset = jax.tree_util.tree_leaves(params)
        (scale, offset), treedef = jax.tree.flatten(params)
        offset, scale = jax.tree.leaves(params)
        a, b = jax.tree.leaves(params)
        flat = jax.tree.leaves(params)
        scale, offset = flat[0], flat[1]
        return scale, offset
    """
    assert found("PT102", program) == [3, 4, 8]


def test_a_map_that_returns_pairs():
    program = """
    def adam(p, m, g):
        m = 0.9 * m + g
        return p - m, m

    def step(params, momentum, grads):
        params, momentum = jax.tree.map(adam, params, momentum, grads)
        return params, momentum

    def pairs(params, momentum, grads):
        both = jax.tree.map(adam, params, momentum, grads)
        new = jax.tree.map(lambda p, m: p - m, params, momentum)
        low, high = jax.tree.map(lambda p: p * 2, (params, momentum))
        return both, new, low, high
    """
    assert found("PT103", program) == [6]


def test_an_unregistered_dataclass_is_a_leaf():
    program = """
    import dataclasses

    @dataclasses.dataclass
    class Layer:
        w: jax.Array

    @dataclasses.dataclass
    class Config:
        size: int

    def count(model):
        return sum(x.size for x in jax.tree.leaves(model))

    def main(w, config: Config):
        layers = [Layer(w), Layer(w)]
        jax.tree.map(lambda c: c, {"config": Config(3)})
        jax.tree.map(lambda l: l.w, layers, is_leaf=lambda x: isinstance(x, Layer))
        return count({"layers": layers, "out": w})
    """
    # A function that is given the tree would be right for a class that is registered.
    assert found("PT104", program) == [4]
    leaves = "jax.tree.leaves({'layers': layers, 'out': w})"
    assert found("PT104", program.replace('count({"layers": layers, "out": w})', leaves)) == [18]


@pytest.mark.parametrize("asked", ["isinstance(pair, jax.Array)", 'hasattr(pair, "dtype")'])
def test_an_object_is_no_array(asked: str):
    program = f"""
    import dataclasses

    @dataclasses.dataclass
    class Pair:
        value: jax.Array

    def main(x):
        pair = Pair(x)
        return jnp.zeros(3 if {asked} else 4) + jnp.ones(3)
    """
    assert found("AX201", program) == [9]
    derived = program.replace("class Pair:", "class Pair(Base):")
    assert found("AX201", "    from elsewhere import Base\n" + derived) == []


@pytest.mark.parametrize(
    ("register", "lines"),
    [
        ("jax.tree_util.register_dataclass", [10]),
        (
            "partial(jax.tree_util.register_dataclass, data_fields=['low'], meta_fields=['high'])",
            [],
        ),
    ],
)
def test_fields_of_a_registered_dataclass_are_mapped(register: str, lines: list[int]):
    program = f"""
    import dataclasses
    from functools import partial

    @{register}
    @dataclasses.dataclass
    class Span:
        low: jax.Array
        high: jax.Array

    def main(x):
        span = jax.tree.map(lambda leaf: jnp.zeros(4), Span(jnp.ones(3), jnp.ones(3)))
        return span.high + jnp.ones(3)
    """
    assert found("AX201", program) == [it + 2 for it in lines]


@pytest.mark.parametrize(("mapped", "lines"), [("lambda it: it.w", []), ("lambda it: it", [8])])
def test_a_leaf_on_purpose_is_taken_apart_by_what_is_mapped(mapped: str, lines: list[int]):
    program = f"""
    import dataclasses

    @dataclasses.dataclass
    class Updated:
        w: jax.Array

    def main(params):
        return jax.tree.map({mapped}, jax.tree.map(lambda w: Updated(w * 2), {{"a": params}}))
    """
    assert found("PT104", program) == lines


def test_layers_that_a_list_holds_are_divided_one_by_one():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        layers: list

        def __call__(self, x):
            return sum(layer * x for layer in self.layers)

    def loss(net, x):
        return jnp.sum(net(x))

    def step(net, moments, x):
        grads = eqx.filter_grad(loss)(net, x)
        return jax.tree.map(lambda m, g: m + g, moments, grads)

    def main(weights, x):
        net = Net([weights[i] for i in range(weights.shape[0])])
        return step(net, jax.tree.map(jnp.zeros_like, net), x)
    """
    assert found("PT203", program) == []


def test_a_function_in_what_is_differentiated():
    program = """
    import equinox as eqx
    from collections.abc import Callable

    class Net(eqx.Module):
        w: jax.Array
        act: Callable

    class Static(eqx.Module):
        w: jax.Array
        act: Callable = eqx.field(static=True)
        name: str = eqx.static_field()

    def loss(model, x):
        return model.act(x @ model.w).sum()

    def main(w, x, key):
        jax.value_and_grad(loss)(Net(w, jax.nn.relu), x)
        jax.grad(lambda m: m(x).sum())(eqx.nn.MLP(2, 2, 8, 1, key=key))
        jax.grad(lambda p: p["w"].sum())({"w": w, "kind": "dense"})
        return jax.grad(loss)(Static(w, jax.nn.relu, "s"), x), eqx.filter_grad(loss)(
            Net(w, jax.nn.relu), x
        )
    """
    assert found("PT202", program) == [17, 18, 19]


def test_trees_of_different_structure():
    program = """
    def f(x):
        a = {"w": 2 * x, "b": x}
        b = {"w": x}
        jax.tree.map(lambda p, q: p + q, a, b)
        jax.tree.map(lambda p, q: p + q, (x, x), [x, x])
        jax.tree.map(lambda p, q: p + q, {"w": None, "b": x}, a)
        jax.tree.map(jnp.add, [x * 1, x], [x, x, x])
        return jax.tree.map(lambda p, q: p, a, {"w": {"mu": x}, "b": None}), jax.tree.map(
            jnp.add, a, {"b": x, "w": x}
        )
    """
    assert found("PT203", program) == [4, 5, 6, 7]


def test_an_object_may_be_of_a_registered_class_that_derives_from_its_own():
    program = """
    class Base:
        @jax.jit
        def __call__(self, x):
            return self.scale(x)

    @jax.tree_util.register_pytree_node_class
    class Scaled(Base):
        def __init__(self, s):
            self.s = s

        def tree_flatten(self):
            return (self.s,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    class Operator:
        pass

    f = jax.jit(lambda operator, x: operator @ x)

    def solve(operator: Operator, x):
        return f(operator, x)
    """
    assert found("PT201", program) == []


def test_arrays_in_static_fields():
    program = """
    import equinox as eqx
    import flax.struct

    class Net(eqx.Module):
        w: jax.Array
        mask: jax.Array = eqx.field(static=True)
        table: np.ndarray = eqx.static_field()
        name: str = eqx.field(static=True)

    @flax.struct.dataclass
    class State:
        x: jax.Array
        mean: "jnp.ndarray" = flax.struct.field(pytree_node=False)
        size: int = flax.struct.field(pytree_node=False)
        apply: object = flax.struct.field(pytree_node=False)

    class Plain:
        mask: jax.Array = eqx.field(static=True)
    """
    assert found("PT106", program) == [6, 7, 13]


@pytest.mark.parametrize(("given", "lines"), [("1", []), ("which", []), ("0", [8])])
def test_an_object_may_be_static_for_a_pmap(given: str, lines: list[int]):
    program = f"""
    import dataclasses

    @dataclasses.dataclass
    class Scale:
        by: int

    def main(x, which):
        scaled = jax.pmap(lambda x, s: x * s.by, static_broadcasted_argnums={given})(x, Scale(3))
        return scaled
    """
    assert found("PT201", program) == lines


def test_arrays_of_a_model_are_differentiated_and_its_functions_are_not():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        scale: jax.Array
        act: object
        layers: list

    def loss(params, static, x):
        net = eqx.combine(params, static)
        for layer in net.layers:
            x = layer(x)
        return (net.act(x) * net.scale).sum()

    def run(x, key):
        net = Net(jnp.ones(2), jax.nn.relu, [eqx.nn.MLP(2, 2, 8, 2, key=key)])
        params, static = eqx.partition(net, eqx.is_array)
        jax.grad(lambda net: loss(net, static, x))(net)
        return jax.grad(loss)(params, static, x)
    """
    assert {line for _, line in found_of("pytree", program)} == {17}


def test_a_model_that_was_divided_and_put_together_is_followed():
    program = """
    import equinox as eqx
    import optax

    class Net(eqx.Module):
        layer: eqx.nn.Linear
        act: object

        def __call__(self, x, key):
            return self.act(self.layer(x)) + jax.random.normal(key, (2,))

    def loss(params, static, x, key):
        net = eqx.combine(params, static)
        return (jax.vmap(net, in_axes=(0, None))(x, key) ** 2).sum()

    def train(x, key, layer_key):
        net = Net(eqx.nn.Linear(3, 2, key=layer_key), jax.nn.relu)
        params, static = eqx.partition(net, eqx.is_array)
        params = optax.apply_updates(params, params)
        return jax.grad(loss)(params, static, x, key)
    """
    assert found("RK003", program) == [13]


def test_a_tree_that_is_not_made_yet():
    program = """
    class Problem:
        def __init__(self, points, counts):
            self.border, self.counts = None, counts
            self.points = self.both({"x": points})

        def both(self, points):
            if len(self.counts):
                return jax.tree.map(lambda a, b: jnp.concatenate([a, b]), self.border, points)
            return points

    def start(points, counts):
        return Problem(points, counts)
    """
    assert found("PT203", program) == []
    written = program.replace("self.border, points", '{"y": 1}, points')
    assert found("PT203", written) == [8]
