"""Lenses as values: equal when they do the same, parts of a state, kept apart from its data."""

import copy

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.state import (
    BoundLens,
    ConstantLens,
    IdentityLens,
    LambdaLens,
    Lens,
    all_isinstance_lens,
    all_where_lens,
    bind,
    dataclass,
    field,
    lens,
    view,
)


def made_at_one_place(key="a"):
    return lens(lambda s: s[key])


MAKERS = {
    "lens": made_at_one_place,
    "focus": lambda: made_at_one_place().focus(lambda x: x.y),
    "at": lambda: made_at_one_place().at(2, mode="drop"),
    "merge": lambda: made_at_one_place().merge(made_at_one_place("b")),
    "merge with at": lambda: made_at_one_place().merge(made_at_one_place("b").at(1)),
    "LambdaLens": lambda: LambdaLens(lambda s: s, lambda s, v: v),
    "IdentityLens": IdentityLens,
    "ConstantLens": lambda: ConstantLens(3),
    "all_where_lens": lambda: all_where_lens(lambda x: x is None),
    "all_isinstance_lens": lambda: all_isinstance_lens(int),
    "view": lambda: view(lambda s: s + 1),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_lenses_made_by_the_same_code_are_equal(make):
    assert make() == make()
    assert hash(make()) == hash(make())
    assert make() != made_at_one_place("other")
    assert made_at_one_place("other") != make()


def test_what_a_lens_closes_over_counts():
    assert made_at_one_place("a") != made_at_one_place("b")
    assert all_isinstance_lens(int) != all_isinstance_lens(float)
    assert lens(lambda s: s.x) != lens(lambda s: s.y)
    ones, others = jnp.ones(2), jnp.ones(2)

    def close_over(array):
        return lens(lambda s: s[array])

    assert close_over(ones) == close_over(ones)
    assert close_over(ones) != close_over(others)  # arrays are not compared, only recognised


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("static", [True, False])
def test_a_lens_in_a_state_does_not_make_jit_compile_again(make, static):
    @dataclass
    class State:
        where: object = field(static=static)
        x: float

    traces = []

    @jax.jit
    def step(state):
        traces.append(1)
        return State(state.where, state.x + 1)

    for x in (1.0, 2.0):
        state = step(State(make(), x))
        assert state.x == x + 1
    assert type(state.where) is type(make())
    assert len(traces) == 1


def test_bound_lenses_cross_jit():
    bound = bind({"x": jnp.arange(3.0)}, lambda s: s["x"]).at(jnp.array([0, 2]))
    doubled = jax.jit(lambda b: b.apply(lambda x: x + 10))(bound)
    np.testing.assert_array_equal(doubled["x"], [10, 1, 12])


def test_bind_offers_the_lens_without_its_state():
    state = {"a": 1, "b": {"c": 2}}
    bound = bind(state)
    assert bound.get() is state
    assert bound.focus(lambda s: s["b"]).focus(lambda b: b["c"]).get() == 2
    assert bound.nest(lens(lambda s: s["a"])).apply(lambda a: a + 1) == {"a": 2, "b": {"c": 2}}
    both = bind(state, lambda s: s["a"]).merge(lens(lambda s: s["b"]["c"]))
    assert both.get() == (1, 2)
    assert both.set((8, 9)) == {"a": 8, "b": {"c": 9}}
    assert isinstance(lens(lambda s: s["a"]).bind(state), BoundLens)
    assert lens(lambda s: s["a"]).bind(state).set(3) == {"a": 3, "b": {"c": 2}}


def test_a_lens_goes_wherever_a_getter_can():
    where = lens(lambda s: s["a"])
    assert where({"a": 1}) == 1
    assert bind({"a": 1}, where).set(2) == {"a": 2}
    assert lens(lambda s: s["b"]).focus(where).set({"b": {"a": 1}}, 2) == {"b": {"a": 2}}


def test_a_view_reads_and_computes():
    total = view(lambda s: s["x"]).focus(sum)
    assert total({"x": [1, 2, 3]}) == total.get({"x": [1, 2, 3]}) == 6
    assert not hasattr(total, "set")


def test_lambda_lenses_compose_with_others():
    squared = LambdaLens(lambda s: s**2, lambda s, v: v**0.5)
    where = lens(lambda s: s["side"]).nest(squared)
    assert where.get({"side": 3.0}) == 9.0
    assert where.set({"side": 3.0}, 16.0) == {"side": 4.0}
    assert squared.merge(IdentityLens()).get(3.0) == (9.0, 3.0)


def test_identity_and_constant():
    assert IdentityLens().get(3) == 3
    assert IdentityLens().set(3, 4) == 4
    assert IdentityLens().focus(lambda s: s[0]).set([1, 2], 9) == [9, 2]
    assert ConstantLens("c").get(object()) == "c"
    state = {"a": 1}
    assert ConstantLens("c").set(state, "d") is state


def test_all_where_lens_finds_leaves_and_nodes():
    tree = {"b": [1, -2], "a": (-3, {"x": 4})}
    negative = all_where_lens(lambda part: isinstance(part, int) and part < 0)
    assert negative.get(tree) == (-3, -2)  # dicts are in order of their keys, as for JAX
    assert negative.set(tree, (-30, -20)) == {"b": [1, -20], "a": (-30, {"x": 4})}
    dicts = all_where_lens(lambda part: isinstance(part, dict) and "x" in part)
    assert dicts.get(tree) == ({"x": 4},)
    with pytest.raises(ValueError, match="finds 2 parts in the dict and was given 1"):
        negative.set(tree, (-1,))


def test_all_isinstance_lens_stops_at_what_it_finds():
    @dataclass
    class Layer:
        inner: object

    tree = [Layer(Layer(1)), {"x": Layer(2)}]
    layers = all_isinstance_lens(Layer)
    assert layers.get(tree) == (Layer(Layer(1)), Layer(2))
    assert layers.set(tree, (Layer(8), Layer(9))) == [Layer(8), {"x": Layer(9)}]
    inner = layers.focus(lambda found: [layer.inner for layer in found])
    assert inner.set(tree, [8, 9]) == [Layer(8), {"x": Layer(9)}]


def test_copies_of_a_lens_are_equal_to_it():
    where = made_at_one_place()
    assert copy.deepcopy(where) == where


def test_a_lens_of_ones_own_has_everything_else():
    class First(Lens):
        def get(self, state):
            return state[0]

        def set(self, state, value):
            return (value, *state[1:])

    assert First().apply((1, 2), lambda x: x + 1) == (2, 2)
    assert First().focus(lambda x: x["a"]).set(({"a": 1}, 2), 5) == ({"a": 5}, 2)
    assert First().merge(lens(lambda s: s[1])).set((1, 2), (3, 4)) == (3, 4)
