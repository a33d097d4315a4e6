"""Dataclasses as pytrees: what JAX sees, what Python's own tools do with them, what they refuse."""

import copy
import dataclasses
import pickle
from typing import Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.state import dataclass, field, no_post_init, skip_post_init_if_disabled

T = TypeVar("T")


@dataclass
class Particle:
    position: jax.Array
    charge: float
    name: str = field(static=True, default="H")


@dataclass
class Named(Particle):
    tags: tuple[str, ...] = field(static=True, default=())
    history: list[float] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Slotted:
    x: float
    n: int = field(static=True)


@dataclass
class Box(Generic[T]):
    content: T

    @property
    def doubled(self):
        return 2 * self.content

    def add(self, other):
        return Box(self.content + other)


@dataclass
class Checked:
    low: float
    high: float
    width: float = field(init=False)

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError("low is above high")
        object.__setattr__(self, "width", self.high - self.low)


def test_dynamic_fields_are_leaves_in_order_and_static_fields_are_structure():
    particle = Particle(jnp.arange(3.0), 2.0, "C")
    leaves, structure = jax.tree.flatten(particle)
    assert [np.shape(leaf) for leaf in leaves] == [(3,), ()]
    assert structure != jax.tree.structure(dataclasses.replace(particle, name="O"))
    assert structure == jax.tree.structure(dataclasses.replace(particle, charge=9.0))


def test_leaf_paths_are_field_names():
    paths = [
        jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(Named(1.0, 2.0))
    ]
    assert paths == [".position", ".charge"]
    nested = Named(1.0, 2.0, history=[3.0])
    last = jax.tree_util.tree_leaves_with_path(nested)[-1][0]
    assert jax.tree_util.keystr(last) == ".history[0]"


def test_jit_compiles_again_only_when_a_static_field_changes():
    traces = []

    @jax.jit
    def move(particle):
        traces.append(particle.name)
        return dataclasses.replace(particle, charge=particle.charge + 1)

    for name, charge in [("C", 1.0), ("C", 5.0), ("O", 1.0)]:
        moved = move(Particle(jnp.zeros(3), charge, name))
        assert (moved.name, float(moved.charge)) == (name, charge + 1)
    assert traces == ["C", "O"]


def test_grad_and_vmap_go_through():
    def energy(p):
        return jnp.sum(p.position**2) * p.charge

    slope = jax.grad(energy)(Particle(jnp.array([1.0, 2.0]), 3.0))
    np.testing.assert_allclose(slope.position, [6.0, 12.0])
    np.testing.assert_allclose(slope.charge, 5.0)
    batch = Particle(jnp.ones((4, 2)), jnp.arange(4.0))
    np.testing.assert_allclose(jax.vmap(energy)(batch), [0.0, 2.0, 4.0, 6.0])


def test_instances_are_frozen_unless_told_otherwise():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Particle(1.0, 2.0).charge = 3.0

    @dataclass(frozen=False)
    class Loose:
        x: float

    loose = Loose(1.0)
    loose.x = 2.0
    assert jax.tree.leaves(loose) == [2.0]


def test_a_subclass_has_all_fields_and_its_own_type():
    one = jax.tree.map(lambda leaf: leaf + 1, Named(1.0, 2.0, "C", ("a",), [3.0]))
    assert one == Named(2.0, 3.0, "C", ("a",), [4.0])


def test_default_factories_make_a_new_value_each_time():
    assert Named(1.0, 2.0).history is not Named(1.0, 2.0).history


def test_slots_and_keyword_only():
    one = jax.tree.map(lambda leaf: leaf + 1, Slotted(x=1.0, n=3))
    assert (one.x, one.n, hasattr(one, "__dict__")) == (2.0, 3, False)
    with pytest.raises(TypeError):
        Slotted(1.0, 3)


def test_generic_classes_keep_methods_and_properties():
    box = Box[float](2.0)
    assert box.doubled == 4.0
    assert jax.jit(lambda b: b.add(1.0))(box).content == 3.0


@pytest.mark.parametrize(
    "one",
    [Named(1.0, 2.0, "C", ("a",), [3.0]), Slotted(x=1.0, n=3), Box((1.0, 2.0)), Checked(1.0, 3.0)],
    ids=lambda one: type(one).__name__,
)
@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda one: pickle.loads(pickle.dumps(one)),
        dataclasses.replace,
        lambda one: jax.tree.map(lambda leaf: leaf, one),
    ],
    ids=["copy", "deepcopy", "pickle", "replace", "tree_map"],
)
def test_copies_are_equal_and_of_the_same_type(one, again):
    other = again(one)
    assert other == one
    assert other is not one
    assert type(other) is type(one)


def test_dataclasses_inside_dataclasses_dicts_and_lists():
    tree = Box({"a": [Box(1.0), Slotted(x=2.0, n=1)]})
    assert jax.tree.leaves(tree) == [1.0, 2.0]
    assert jax.tree.map(lambda leaf: leaf, tree) == tree


def test_the_order_of_static_and_dynamic_fields_is_free():
    @dataclass
    class State:
        size: int = field(static=True)
        data: float

    assert jax.tree.map(lambda leaf: leaf * 2, State(3, 4.0)) == State(3, 8.0)


def test_a_class_without_dynamic_fields_has_no_leaves():
    @dataclass
    class Settings:
        size: int = field(static=True)

    assert jax.tree.leaves(Settings(3)) == []
    assert jax.jit(lambda s: s)(Settings(3)) == Settings(3)


def test_static_metadata_of_the_standard_library_counts():
    @dataclass
    class State:
        data: float
        size: int = dataclasses.field(default=1, metadata={"static": True})

    assert jax.tree.leaves(State(4.0)) == [4.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [([1, 2], "a list: [1, 2]"), ({"a": 1}, "a dict"), (np.zeros(2), "a ndarray")],
    ids=["list", "dict", "array"],
)
def test_an_unhashable_static_value_is_refused_where_it_is_given(value, words):
    with pytest.raises(TypeError) as caught:
        Slotted(x=1.0, n=value)
    text = str(caught.value)
    assert text.startswith("Slotted.n is a static field")
    assert words in text
    assert "remove static=True from 'n'" in text


def test_replace_refuses_unhashable_static_values_too():
    with pytest.raises(TypeError, match=r"Named\.tags is a static field"):
        dataclasses.replace(Named(1.0, 2.0), tags=["a"])


def test_a_traced_value_in_a_static_field_is_named_as_such():
    with pytest.raises(TypeError, match=r"Slotted\.n .* only exists while the program runs"):
        jax.jit(lambda x: Slotted(x=1.0, n=x))(3)


def test_transformations_do_not_run_post_init():
    shapes = jax.eval_shape(lambda c: c, Checked(1.0, 3.0))
    assert shapes.width.shape == ()
    swapped = jax.tree.map(lambda leaf: -leaf, Checked(1.0, 3.0))
    assert (swapped.low, swapped.high, swapped.width) == (-1.0, -3.0, -2.0)


def test_replace_runs_post_init():
    assert dataclasses.replace(Checked(1.0, 3.0), high=9.0).width == 8.0
    with pytest.raises(ValueError, match="low is above high"):
        dataclasses.replace(Checked(1.0, 3.0), high=0.0)


def test_no_post_init_spares_only_those_who_opted_in_and_ends_with_its_block():
    @dataclass
    class Willing:
        low: float
        high: float

        @skip_post_init_if_disabled
        def __post_init__(self):
            if self.low > self.high:
                raise ValueError("low is above high")

    with no_post_init():
        Willing(3.0, 1.0)
        with pytest.raises(ValueError, match="low is above high"):
            Checked(3.0, 1.0)
        with no_post_init():
            pass
        Willing(3.0, 1.0)  # an inner block that ends does not end the outer one
    with pytest.raises(ValueError, match="low is above high"):
        Willing(3.0, 1.0)


def test_no_post_init_ends_after_an_error():
    @dataclass
    class Loud:
        x: int

        @skip_post_init_if_disabled
        def __post_init__(self):
            raise ValueError("checked")

    with pytest.raises(KeyError), no_post_init():
        raise KeyError
    with pytest.raises(ValueError, match="checked"):
        Loud(1)
