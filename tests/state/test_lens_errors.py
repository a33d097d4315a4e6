"""What a lens refuses to set, and whether a reader of the message knows what to do."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import pytest

from verax.state import dataclass, lens


@dataclass
class State:
    x: jax.Array
    n: float
    parts: tuple

    def doubled(self):
        return self.n * 2


STATE = State(jnp.arange(3.0), 4.0, (1, 2))

COMPUTING = {
    "arithmetic": lambda s: s.n * 2,
    "reflected arithmetic": lambda s: 2 - s.n,
    "comparison": lambda s: s.n > 3,
    "negation": lambda s: -s.n,
    "a jnp function": lambda s: jnp.sum(s.x),
    "a method of an array": lambda s: s.x.sum(),
    "a transposed array": lambda s: s.x.T,
    "a method that computes": lambda s: s.doubled(),
    "conversion": lambda s: float(s.n),
    "a constant": lambda s: 3,
    "one of several parts": lambda s: (s.n, s.n + 1),
    "leaves of the tree": lambda s: jax.tree.leaves(s),
    "a leaf of the tree": lambda s: jax.tree.leaves(s)[0],
    "the number of parts": lambda s: len(s.parts),
    "an f-string": lambda s: f"{s.n:.1f}",
    "identity": lambda s: s.n if s.parts is STATE.parts else s.x,
}


@pytest.mark.parametrize("getter", COMPUTING.values(), ids=COMPUTING)
def test_a_getter_that_computes_is_read_but_not_set(getter):
    where = lens(getter)
    assert jax.tree.structure(where.get(STATE)) == jax.tree.structure(getter(STATE))
    with pytest.raises(ValueError, match=r"cannot set.*LambdaLens\(get, set\)"):
        where.set(STATE, getter(STATE))


def test_the_message_names_the_getter_its_place_and_its_result():
    where = lens(lambda s: (s.n, s.n + 1))
    with pytest.raises(ValueError, match="cannot set") as caught:
        where.set(STATE, (1.0, 2.0))
    text = str(caught.value)
    line = test_the_message_names_the_getter_its_place_and_its_result.__code__.co_firstlineno + 1
    assert f"<lambda> at {__file__}:{line}) cannot set" in text
    assert "its result at [1], the float 5.0, is not a part of the state" in text
    assert "lens.apply(state, fn)" in text


def test_an_array_is_described_by_its_type():
    with pytest.raises(ValueError, match=r"an array float32\[3\]"):
        lens(lambda s: s.x + 1).set(STATE, 0)


def test_values_that_are_arranged_otherwise_are_refused():
    with pytest.raises(ValueError, match="arranged otherwise than what the getter returns"):
        lens(lambda s: (s.x, s.n)).set(STATE, [1, 2])


@pytest.mark.parametrize(
    "getter",
    [lambda s: (s.n, s.n), lambda s: (s.parts, s.parts[0]), lambda s: (s.parts[0], s.parts)],
    ids=["the same", "outer first", "inner first"],
)
def test_overlapping_places_are_refused(getter):
    where = lens(getter)
    with pytest.raises(ValueError, match="two of the places overlap"):
        where.set(STATE, where.get(STATE))


def test_errors_of_the_getter_itself_come_through():
    with pytest.raises(AttributeError, match="nothing"):
        lens(lambda s: s.nothing).set(STATE, 1)
    with pytest.raises(IndexError):
        lens(lambda s: s.parts[5]).set(STATE, 1)


def test_a_mapping_that_cannot_be_made_from_a_dict_is_named():
    class Odd(Mapping):
        def __init__(self):
            pass

        def __getitem__(self, key):
            return STATE.parts

        def __iter__(self):
            return iter("a")

        def __len__(self):
            return 1

    with pytest.raises(ValueError, match=r"cannot make a new .*Odd"):
        lens(lambda s: s["a"]).set(Odd(), 1)
