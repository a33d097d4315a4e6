"""Types against JAX's own promotion."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.audit.source.shapes import dtypes
from verax.audit.source.shapes.dtypes import inexact, kind, named, of_literal, promote, summed

STRONG = "bool uint8 uint16 uint32 int8 int16 int32 bfloat16 float16 float32 complex64".split()
WEAK = {"int32*": 1, "float32*": 1.0, "complex64*": 1j}
ALL = [*STRONG, *WEAK]
VAGUE = ["integer", "floating", None]


def value(dtype: str) -> Any:
    return WEAK[dtype] if dtype in WEAK else jnp.zeros((), dtype)


def name(result: Any) -> str:
    return result.dtype.name + "*" * result.weak_type


@pytest.mark.parametrize("a", ALL)
@pytest.mark.parametrize("b", ALL)
def test_promotion_of_two(a: str, b: str):
    expected = jax.eval_shape(lambda: jnp.multiply(value(a), value(b)))
    assert promote(a, b) == name(expected)


@given(st.lists(st.sampled_from(ALL), min_size=1, max_size=4))
def test_promotion_of_several(operands: list[str]):
    found = promote(*operands)
    assert found is not None
    assert found.rstrip("*") == jnp.result_type(*map(value, operands)).name


def covers(found: str | None, expected: str) -> bool:
    """Whether what is known of a type is true of one."""
    if found is None:
        return True
    return kind(expected) == found if found in VAGUE else found == expected


@given(st.sampled_from(ALL), st.sampled_from(ALL), st.booleans(), st.booleans())
def test_promotion_of_what_is_vague(a: str, b: str, vague_a: bool, vague_b: bool):
    first = kind(a) if vague_a and kind(a) in VAGUE else a
    second = kind(b) if vague_b and kind(b) in VAGUE else b
    exact = promote(a, b)
    assert exact is not None
    found = promote(first, second)
    # Whether a number of unknown width is weak is not known either.
    assert covers(found, exact) or (found or "").rstrip("*") == exact.rstrip("*")


@pytest.mark.parametrize("dtype", STRONG)
def test_results_of_kinds_of_functions(dtype: str):
    x = jax.ShapeDtypeStruct((3,), dtype)
    assert inexact(dtype) == name(jax.eval_shape(jnp.sqrt, x))
    assert inexact(dtype) == name(jax.eval_shape(jnp.mean, x))
    assert summed(dtype) == name(jax.eval_shape(jnp.sum, x))
    assert dtypes.real(dtype) == name(jax.eval_shape(jnp.real, x))
    assert dtypes.is_float(dtype) == jnp.issubdtype(dtype, jnp.floating)
    assert dtypes.is_integer(dtype) == jnp.issubdtype(dtype, jnp.integer)
    assert dtypes.is_inexact(dtype) == jnp.issubdtype(dtype, jnp.inexact)


@pytest.mark.parametrize("number", [True, 1, 1.0, 1j])
def test_literals(number: complex):
    assert of_literal(number) == name(jax.eval_shape(lambda: jnp.asarray(number)))


@pytest.mark.parametrize(
    "named_type",
    [*STRONG, "bool_", "single", "f4", "f2", "i4", "u1", "b1"],
)
def test_names_of_types(named_type: str):
    real = getattr(jnp, named_type, named_type)
    expected = jax.eval_shape(lambda: jnp.zeros((), real)).dtype.name
    assert named(named_type) == expected
    assert named(f"jax.numpy.{named_type}") == expected


def test_classes_and_wide_types():
    assert [named(each) for each in (float, int, bool, complex)] == [
        jnp.zeros((), each).dtype.name for each in (float, int, bool, complex)
    ]
    # As wide as the program's configuration says.
    assert named("float64") == "floating"
    assert named("int64") == "integer"
    assert named(np.ndarray) is None
    assert named(3) is None


def test_unknown_types_stay_unknown():
    assert promote("float32", None) is None
    assert inexact(None) is None
    assert promote("key", "float32") is None
    assert promote("integer", "float16") == "float16"
    assert promote("floating", "float32") == "floating"
