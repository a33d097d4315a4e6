"""The place that a lens points at, as text."""

from operator import attrgetter, itemgetter

import jax.numpy as jnp
import pytest

from verax.state import (
    ConstantLens,
    HasLensFields,
    IdentityLens,
    LensField,
    all_isinstance_lens,
    dataclass,
    lens,
    lens_property,
    path_of,
)


@dataclass
class Box(HasLensFields):
    size: LensField[int]
    parts: dict

    @lens_property
    def edges(self):
        return self.parts["edges"]


TOLD = {
    "state": IdentityLens(),
    "state.a.b": lens(lambda s: s.a.b),
    "state['a'][0].b": lens(lambda s: s["a"][0].b),
    "state[1:][:, ::2]": lens(lambda s: s[1:][:, ::2]),
    "state.a['b'].c": lens(lambda s: s.a).focus(itemgetter("b")).nest(lens(attrgetter("c"))),
    "state.a, state.b": lens(lambda s: s.a).merge(lens(lambda s: s.b)),
    "state.b, state.c": lens(lambda s: [s.b, s.c]),
    "state.size": Box.size,
    "state.parts['edges']": Box.edges,
}


@pytest.mark.parametrize("path", TOLD)
def test_a_getter_that_points_tells_where(path):
    assert path_of(TOLD[path]) == path


def test_the_state_has_the_name_that_it_is_given():
    assert path_of(lens(lambda s: s.a), "box") == "box.a"


def last(node):
    while node.next is not None:
        node = node.next
    return node


UNTOLD = {
    "arithmetic": lens(lambda s: s.a + 1),
    "a call": lens(lambda s: s.method()),
    "a loop": lens(lambda s: [part.size for part in s.parts]),
    "a comparison": lens(lambda s: s.a if s.kind == "a" else s.b),
    "a choice": lens(lambda s: s.a or s.b),
    "a membership": lens(lambda s: s.a if "a" in s.names else s.b),
    "a type": lens(lambda s: s.a if isinstance(s, Box) else s.b),
    "a key of the state": lens(lambda s: s.a[s.b]),
    "an array of keys": lens(lambda s: s.a[jnp.array([1, 2])]),
    "an end that is not in sight": lens(last),
    "nothing": lens(lambda s: ()),
    "entries": lens(lambda s: s.a).at(1),
    "a constant": ConstantLens(1),
    "a search": all_isinstance_lens(Box),
}


@pytest.mark.parametrize("kind", UNTOLD)
def test_what_takes_a_state_to_find_out_is_not_told(kind):
    assert path_of(UNTOLD[kind]) is None
