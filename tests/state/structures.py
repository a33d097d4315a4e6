"""Nested states of every kind of container, and the same states written down as plain specs.

A spec is a leaf, or `(kind, children)`. `build` makes the state; `replaced` edits the spec. What a
lens does to the state can so be compared with a state that was built from an edited spec, without
any code in common.
"""

from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from operator import attrgetter, itemgetter
from types import MappingProxyType
from typing import Any

import jax
from hypothesis import strategies as st

from verax.state import dataclass

Three = namedtuple("Three", "first second third")


@dataclass
class Plain:
    first: Any
    second: Any
    third: Any


@dataclass(slots=True)
class Slotted:
    first: Any
    second: Any
    third: Any


@dataclass
class Checked:
    first: Any
    second: Any
    third: Any

    def __post_init__(self):
        assert type(self.first) is not bool


class Registered:
    """A pytree of the old school: one child it names, one it does not, and auxiliary data."""

    def __init__(self, first, second, third):
        self.first, self.second, self.third = first, second, third


jax.tree_util.register_pytree_node(
    Registered,
    lambda one: ((one.first, one.second), one.third),
    lambda third, children: Registered(*children, third),
)

NAMES = ("first", "second", "third")
ATTRIBUTES = {kind: kind for kind in (Plain, Slotted, Checked, Registered, Three)}
KEYS = ("b", "a", 3)  # not in sorted order, not all of one type
ITEMS = {
    dict: lambda pairs: dict(pairs),
    OrderedDict: OrderedDict,
    defaultdict: lambda pairs: defaultdict(list, pairs),
    MappingProxyType: lambda pairs: MappingProxyType(dict(pairs)),
}


def build(spec: Any) -> Any:
    if type(spec) is not tuple:
        return spec
    kind, children = spec[0], [build(child) for child in spec[1]]
    if kind in (list, tuple):
        return kind(children)
    if kind in ITEMS:
        return ITEMS[kind](list(zip(KEYS, children, strict=True)))
    return ATTRIBUTES[kind](*children)


def replaced(spec: Any, path: tuple[int, ...], new: Any) -> Any:
    if not path:
        return new
    kind, children = spec
    index, *rest = path
    edited = [replaced(c, tuple(rest), new) if i == index else c for i, c in enumerate(children)]
    return kind, edited


def getter(spec: Any, path: tuple[int, ...]) -> Any:
    """The getter that a user would write to reach a path: attributes and brackets."""
    steps = []
    for index in path:
        kind, children = spec
        if kind in ATTRIBUTES:
            steps.append(attrgetter(NAMES[index]))
        else:
            steps.append(itemgetter(KEYS[index] if kind in ITEMS else index))
        spec = children[index]

    def get(state):
        for step in steps:
            state = step(state)
        return state

    return get


def seen(state: Any) -> Any:
    """Everything that can be told about a state: types, order of keys, default factories."""
    if isinstance(state, Mapping):
        inside = [(key, seen(value)) for key, value in state.items()]
        return type(state).__name__, getattr(state, "default_factory", None), inside
    if isinstance(state, list | tuple):
        return type(state).__name__, [seen(item) for item in state]
    if is_dataclass(state):
        return type(state).__name__, [seen(getattr(state, one.name)) for one in fields(state)]
    if isinstance(state, Registered):
        return "Registered", [seen(getattr(state, name)) for name in NAMES]
    return type(state).__name__, state


def leaf_paths(spec: Any) -> list[tuple[int, ...]]:
    if type(spec) is not tuple:
        return [()]
    return [(i, *path) for i, child in enumerate(spec[1]) for path in leaf_paths(child)]


# Small integers and None are shared between all their uses; a lens must tell the places apart.
leaves = st.one_of(st.integers(0, 3), st.floats(0, 1), st.sampled_from(["x", None]))
specs = st.recursive(
    leaves,
    lambda inner: st.tuples(
        st.sampled_from([list, tuple, *ITEMS, *ATTRIBUTES]),
        st.lists(inner, min_size=3, max_size=3),
    ),
    max_leaves=12,
)
