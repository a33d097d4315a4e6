"""The vocabulary of operations: names that JAX has, and one for each thing."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.audit.source import operations
from verax.audit.source.library.names import canonical

SETS = {
    name: found
    for name, found in vars(operations).items()
    if name.isupper() and isinstance(found, frozenset)
}


def exists(name: str) -> bool:
    """Whether a library has what a name says; operators and the graph's own words are not asked."""
    owner, _, last = name.rpartition(".")
    if owner in ("", "at"):
        return True
    if owner == "ndarray.at[]":
        return hasattr(jnp.zeros(1).at[0], last)
    return hasattr(jax.Array if owner == "ndarray" else importlib.import_module(owner), last)


@pytest.mark.parametrize("name", sorted(SETS))
def test_all_that_a_set_names_exists(name: str) -> None:
    assert [it for it in sorted(SETS[name]) if not exists(it)] == []


def test_a_name_that_nobody_has_would_be_found() -> None:
    assert not exists("jax.numpy.summ")
    assert not exists("ndarray.at[].put")


@pytest.mark.parametrize("name", sorted(SETS))
def test_a_set_names_everything_as_the_graph_does(name: str) -> None:
    assert [it for it in sorted(SETS[name]) if canonical(it) != it] == []


@pytest.mark.parametrize(
    ("one", "other", "given"),
    [
        ("amax", "max", (np.array([1.0, 3.0]),)),
        ("amin", "min", (np.array([1.0, 3.0]),)),
        ("absolute", "abs", (-2.0,)),
        ("around", "round", (1.6,)),
        ("conjugate", "conj", (1 + 2j,)),
        ("atan2", "arctan2", (1.0, 2.0)),
        ("bitwise_not", "invert", (5,)),
    ],
)
def test_two_names_for_one_function_are_one(one: str, other: str, given: tuple[object]) -> None:
    assert canonical(f"jax.numpy.{one}") == canonical(f"jax.numpy.{other}")
    assert np.asarray(getattr(jnp, one)(*given)) == np.asarray(getattr(jnp, other)(*given))
