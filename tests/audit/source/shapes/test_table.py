"""The table of functions against the functions themselves: names and parameters."""

import importlib
import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from verax.audit.source.shapes.semantics import TABLE

# Functions that newer releases of JAX have than the oldest one supported.
NEWER = (
    {
        f"jax.scipy.special.{name}"
        for name in "boxcox boxcox1p dawsn erfcinv erfcx loggamma owens_t".split()
    }
    | {
        f"jax.scipy.stats.{module}.{name}"
        for module in "gumbel_l gumbel_r pareto".split()
        for name in "pdf logpdf cdf logcdf sf logsf".split()
    }
    | {"jax.lax.tile"}
)

# Attributes, which have no parameters.
ATTRIBUTES = {"ndarray.T", "ndarray.mT", "ndarray.real", "ndarray.imag"}

JAX_NAMES = [name for name in TABLE if name.startswith("jax.")]
METHODS = [name for name in TABLE if name.startswith("ndarray.")]


def resolve(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError:
        return None


# Some are only in JAX, or in releases of NumPy that are newer than the installed one.
NUMPY_NAMES = [name for name in TABLE if name.startswith("numpy.") and resolve(name) is not None]


def parameters_of(function: Any) -> list[inspect.Parameter] | None:
    """Its parameters, or None where they are not told."""
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return None


def assert_same_order(name: str, real: list[inspect.Parameter]) -> None:
    """Positional parameters are in the same places, and the others there by name."""
    ours = TABLE[name]
    if any(each.kind is each.VAR_POSITIONAL for each in real) and not ours.rest:
        # Binary functions with methods of their own, such as `jnp.add.reduce`, or arguments that
        # were positional in an older release.
        return
    positional = [
        each for each in real if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    for place, (mine, theirs) in enumerate(zip(ours.parameters, positional, strict=False)):
        if theirs.kind is theirs.POSITIONAL_OR_KEYWORD and (place or mine != "x"):
            assert mine == theirs.name, place
    required = [each.name for each in positional if each.default is each.empty]
    assert len(required) <= len(ours.parameters)
    by_name = {each.name for each in real}
    for mine in ours.parameters[len(positional) :]:
        assert mine in by_name | LATER.get(name, set())


# Parameters that are there, or may be given by position, only in some releases.
LATER = {
    "jax.numpy.array": {"copy", "order", "ndmin"},
    "jax.numpy.nanstd": {"mean"},
    "jax.numpy.nanvar": {"mean"},
}


@pytest.mark.parametrize("name", JAX_NAMES)
def test_functions_of_jax(name: str):
    function = resolve(name)
    if function is None:
        assert name in NEWER
        return
    parameters = parameters_of(function)
    if parameters is not None:
        assert_same_order(name, parameters)


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_arrays(name: str):
    method = getattr(type(jnp.zeros(1)), name.removeprefix("ndarray."))
    if name in ATTRIBUTES:
        return
    parameters = parameters_of(method)
    if parameters is not None:
        assert_same_order(name, parameters)


@pytest.mark.parametrize("name", NUMPY_NAMES)
def test_functions_of_numpy(name: str):
    parameters = parameters_of(resolve(name))
    if parameters is None:
        return
    ours = TABLE[name]
    theirs = [each.name for each in parameters if each.kind is not each.KEYWORD_ONLY]
    for mine in ours.parameters[1:]:
        # What NumPy names otherwise, or does not have, is given by no program.
        if mine in theirs:
            assert theirs.index(mine) == ours.parameters.index(mine)


def test_operators_are_pythons():
    operator = importlib.import_module("operator")
    for name in TABLE:
        if name.startswith("operator."):
            assert hasattr(operator, name.removeprefix("operator."))


def test_the_table_covers_what_programs_call():
    assert len(JAX_NAMES) > 400
    assert len(NUMPY_NAMES) > 200
    assert {
        "jax.numpy.mean",
        "jax.nn.softmax",
        "jax.random.normal",
        "jax.lax.top_k",
    } <= TABLE.keys()
    assert jax.__version__
