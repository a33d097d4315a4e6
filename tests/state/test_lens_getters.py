"""What a getter may do and still be set: loops, slices, methods, choices, arrays."""

import dataclasses
import functools
from collections import Counter, UserDict, namedtuple
from types import MappingProxyType, SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.state import dataclass, field, lens

Pair = namedtuple("Pair", "left right")


@dataclass
class Atom:
    charge: Any
    kind: str = field(static=True, default="H")


@dataclass
class Box:
    atoms: Any
    chosen: int = field(static=True, default=0)
    table: Any = field(default_factory=dict)

    @property
    def head(self):
        return self.atoms[0]

    @functools.cached_property
    def tail(self):
        return self.atoms[-1]

    def charge_of(self, index, default=None):
        return self.atoms[index].charge if index < len(self.atoms) else default

    def __getitem__(self, index):
        return self.atoms[index]

    def __iter__(self):
        return iter(self.atoms)

    def __call__(self, name):
        return self.table[name]


def box() -> Box:
    return Box([Atom(1.0), Atom(2.0, "C"), Atom(3.0)], chosen=1, table={"b": 1, "a": 2})


def charges(state: Box) -> list[Any]:
    return [atom.charge for atom in state.atoms]


@pytest.mark.parametrize(
    ("getter", "value", "expected"),
    [
        (lambda s: s.head.charge, 9.0, [9.0, 2.0, 3.0]),
        (lambda s: s.tail.charge, 9.0, [1.0, 2.0, 9.0]),
        (lambda s: s.charge_of(1), 9.0, [1.0, 9.0, 3.0]),
        (lambda s: s.charge_of(index=2), 9.0, [1.0, 2.0, 9.0]),
        (lambda s: s[1].charge, 9.0, [1.0, 9.0, 3.0]),
        (lambda s: s.atoms[-2].charge, 9.0, [1.0, 9.0, 3.0]),
        (lambda s: s.atoms[s.chosen].charge, 9.0, [1.0, 9.0, 3.0]),
        (lambda s: [atom.charge for atom in s.atoms], [7.0, 8.0, 9.0], [7.0, 8.0, 9.0]),
        (lambda s: [atom.charge for atom in s], [7.0, 8.0, 9.0], [7.0, 8.0, 9.0]),
        (lambda s: tuple(a.charge for a in s.atoms[1:]), (8.0, 9.0), [1.0, 8.0, 9.0]),
        (lambda s: [a.charge for a in s.atoms[::-2]], [8.0, 9.0], [9.0, 2.0, 8.0]),
        (lambda s: [a.charge for a in s.atoms[: s.chosen]], [9.0], [9.0, 2.0, 3.0]),
        (lambda s: [a.charge for a in s.atoms if a.kind == "C"], [9.0], [1.0, 9.0, 3.0]),
        (lambda s: [a.charge for a in s.atoms if a.charge > 1.5], [8.0, 9.0], [1.0, 8.0, 9.0]),
        (lambda s: [s.atoms[i].charge for i in range(len(s.atoms))], [1, 2, 3], [1, 2, 3]),
        (lambda s: {a.kind + str(i): a.charge for i, a in enumerate(s.atoms) if i},
         {"C1": 8.0, "H2": 9.0}, [1.0, 8.0, 9.0]),
        (lambda s: max(s.atoms, key=lambda a: a.charge).charge, 9.0, [1.0, 2.0, 9.0]),
        (lambda s: (s.atoms[0] if s.table["b"] == 1 else s.atoms[1]).charge, 9.0, [9.0, 2.0, 3.0]),
        (lambda s: next(a for a in s.atoms if isinstance(a, Atom)).charge, 9.0, [9.0, 2.0, 3.0]),
        (lambda s: {"x": (s.atoms[2].charge, [s.atoms[0].charge])}, {"x": (8.0, [9.0])},
         [9.0, 2.0, 8.0]),
        (lambda s: Atom(s.atoms[1].charge), Atom(9.0), [1.0, 9.0, 3.0]),
    ],
)  # fmt: skip
def test_getters_that_point_can_be_set(getter, value, expected):
    where = lens(getter)
    state = where.set(box(), value)
    assert charges(state) == expected
    assert where.get(state) == value
    assert (state.chosen, state.table) == (1, {"b": 1, "a": 2})
    assert [atom.kind for atom in state.atoms] == ["H", "C", "H"]


@pytest.mark.parametrize(
    ("getter", "value", "expected"),
    [
        (lambda s: s.table["a"], 9, {"b": 1, "a": 9}),
        (lambda s: s.table.get("a"), 9, {"b": 1, "a": 9}),
        (lambda s: s("b"), 9, {"b": 9, "a": 2}),
        (lambda s: list(s.table.values()), [8, 9], {"b": 8, "a": 9}),
        (lambda s: {k: v for k, v in s.table.items() if k != "b"}, {"a": 9}, {"b": 1, "a": 9}),
        (lambda s: {**s.table}, {"b": 8, "a": 9}, {"b": 8, "a": 9}),
        (lambda s: [s.table[key] for key in s.table], [8, 9], {"b": 8, "a": 9}),
        (lambda s: [s.table[key] for key in sorted(s.table.keys())], [8, 9], {"b": 9, "a": 8}),
    ],
)  # fmt: skip
def test_dicts_are_read_in_every_way_and_keep_their_order(getter, value, expected):
    table = lens(getter).set(box(), value).table
    assert list(table.items()) == list(expected.items())


def test_match_statements_see_the_types_they_will_meet():
    def charge(state):
        match state:
            case Box(atoms=list() as atoms):
                return atoms[0].charge

    assert charges(lens(charge).set(box(), 9.0)) == [9.0, 2.0, 3.0]


def test_inherited_methods_and_super_are_followed():
    @dataclass
    class Bigger(Box):
        def charge_of(self, index, default=None):
            return super().charge_of(index, default)

    state = Bigger([Atom(1.0), Atom(2.0)])
    assert charges(lens(lambda s: s.charge_of(1)).set(state, 9.0)) == [1.0, 9.0]


@pytest.mark.parametrize("new", [9, 0, None, (1, 2)])
def test_static_fields_are_set_like_others(new):
    assert lens(lambda s: s.chosen, cls=Box).set(box(), new).chosen == new


def test_the_whole_state_is_a_place():
    assert lens(lambda s: s).set(1, 2) == 2


def test_several_fields_of_one_object_change_together():
    @dataclass
    class Interval:
        low: float
        high: float

        def __post_init__(self):
            if self.low > self.high:
                raise ValueError("low is above high")

    both = lens(lambda s: (s["i"].low, s["i"].high))
    state = {"i": Interval(0.0, 1.0)}
    assert both.set(state, (5.0, 6.0)) == {"i": Interval(5.0, 6.0)}
    with pytest.raises(ValueError, match="low is above high"):
        both.set(state, (6.0, 5.0))
    low = lens(lambda s: s["i"].low)
    with pytest.raises(ValueError, match="low is above high"):
        low.set(state, 2.0)
    merged = low.merge(lens(lambda s: s["i"].high))
    assert merged.set(state, (5.0, 6.0)) == {"i": Interval(5.0, 6.0)}


def test_post_init_completes_what_was_set():
    @dataclass
    class Square:
        side: float
        area: float = field(init=False)

        def __post_init__(self):
            object.__setattr__(self, "area", self.side**2)

    assert lens(lambda s: s.side).set(Square(2.0), 3.0).area == 9.0
    with pytest.raises(ValueError, match=r"Square\.area is made by __post_init__"):
        lens(lambda s: s.area).set(Square(2.0), 3.0)


def test_dataclasses_of_others_with_constructors_of_their_own():
    @dataclasses.dataclass(frozen=True)
    class Halved:
        half: float
        name: str = "h"

        def __init__(self, whole):
            object.__setattr__(self, "half", whole / 2)

    assert lens(lambda s: s.half).set(Halved(4.0), 5.0).half == 5.0


def test_objects_that_are_no_containers_are_copied():
    settings = SimpleNamespace(size=1, name="a")
    changed = lens(lambda s: s[0].size).set([settings], 2)
    assert changed == [SimpleNamespace(size=2, name="a")]
    assert settings.size == 1


def test_a_registered_pytree_keeps_no_stale_cache():
    class Node:
        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def twice(self):
            return self.x * 2

    jax.tree_util.register_pytree_node(
        Node, lambda node: ((node.x,), None), lambda _, xs: Node(*xs)
    )
    node = Node(1000.5)
    assert node.twice == 2001.0
    assert lens(lambda s: s.x).set(node, 3.0).twice == 6.0


@pytest.mark.parametrize(
    ("mapping", "expected"),
    [
        (Counter(a=2, b=1), Counter(a=9, b=1)),
        (UserDict(a=2, b=1), UserDict(a=9, b=1)),
        (MappingProxyType({"a": 2, "b": 1}), {"a": 9, "b": 1}),
    ],
    ids=lambda one: type(one).__name__,
)
def test_mappings_of_all_kinds_keep_their_type(mapping, expected):
    changed = lens(lambda s: s["a"]).set(mapping, 9)
    assert changed == expected
    assert type(changed) is type(mapping)


def test_entries_of_arrays():
    state = {"x": jnp.zeros((2, 3))}
    row = lens(lambda s: s["x"][1]).set(state, jnp.ones(3))
    np.testing.assert_array_equal(row["x"], [[0, 0, 0], [1, 1, 1]])
    one = lens(lambda s: s["x"][1][2]).set(state, 5.0)
    np.testing.assert_array_equal(one["x"], [[0, 0, 0], [0, 0, 5]])
    block = lens(lambda s: s["x"][:, 1:]).set(state, 5.0)
    np.testing.assert_array_equal(block["x"], [[0, 5, 5], [0, 5, 5]])
    picked = lens(lambda s: (s["x"][0, 0], s["x"][1][0], s["x"][1][1])).set(state, (1, 2, 3))
    np.testing.assert_array_equal(picked["x"], [[1, 0, 0], [2, 3, 0]])
    columns = lens(lambda s: [row[0] for row in s["x"]]).set(state, [7, 8])
    np.testing.assert_array_equal(columns["x"], [[7, 0, 0], [8, 0, 0]])


def test_numpy_arrays_stay_numpy_and_are_not_changed_in_place():
    state = [np.zeros(3)]
    changed = lens(lambda s: s[0][1]).set(state, 5.0)
    assert type(changed[0]) is np.ndarray
    np.testing.assert_array_equal(changed[0], [0, 5, 0])
    np.testing.assert_array_equal(state[0], [0, 0, 0])


def test_lenses_work_inside_transformations():
    x = lens(lambda s: s.atoms[0].charge)
    state = box()

    def loss(value):
        return sum(atom.charge**2 for atom in x.set(state, value).atoms)

    np.testing.assert_allclose(jax.jit(loss)(4.0), 16 + 4 + 9)
    np.testing.assert_allclose(jax.grad(loss)(4.0), 8.0)
    np.testing.assert_allclose(jax.vmap(loss)(jnp.array([0.0, 1.0])), [13.0, 14.0])
    jitted = jax.jit(lambda s: x.apply(s, lambda charge: charge + 1))
    assert charges(jitted(state)) == [2.0, 2.0, 3.0]


def test_named_tuples_by_name_and_by_number():
    by_name = lens(lambda s: s.right).set(Pair(1, 2), 9)
    by_number = lens(lambda s: s[1]).set(Pair(1, 2), 9)
    assert by_name == by_number == Pair(1, 9)
    assert type(by_name) is type(by_number) is Pair
