"""Random programs with assertions in random places, compared with plain Python.

Each program runs three times: as JAX runs it bare, as it runs when its assertions are collected,
and as `random_programs.reference` runs it without JAX. Hundreds of programs by default; for
thousands of new ones:

    HYPOTHESIS_PROFILE=thorough python -m pytest tests/runtime/test_random_programs.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import assume, example, given, note, settings
from hypothesis import strategies as st

from verax import as_result_function, with_runtime_assertions

from .random_programs import corners, reference
from .random_programs.expected import check, expectations, expectations_of_one
from .random_programs.in_jax import function_of, weighted
from .random_programs.numbers import TooLargeError
from .random_programs.strategy import inputs, programs

# A sixth of a second each, and the same ones at every run unless the profile is `thorough`.
many = settings(max_examples=settings().max_examples * 4 // 10)
# JAX alone is not what is tested here, but that the reference agrees with it must be known.
fewer = settings(max_examples=settings().max_examples * 2 // 10)
some_inputs = st.lists(inputs, min_size=1, max_size=6, unique=True)


def also(programs, given_inputs=corners.INPUTS):
    """Run a test with these programs as well."""

    def decorate(test):
        for program in programs:
            test = example(program, given_inputs)(test)
        return test

    return decorate


def outcomes(program, given_inputs, **options):
    """What plain Python says, unless derivatives grow beyond what JAX computes exactly."""
    note(f"program:{program}")
    try:
        return [reference.run(program, a, b, **options) for a, b in given_inputs]
    except TooLargeError:
        assume(False)


def registers(outcome):
    return tuple(np.float32(register.value) for register in outcome.lane.registers)


def arrays(pair):
    return tuple(map(jnp.float32, pair))


@fewer
@given(programs(), some_inputs)
def test_without_a_collector(program, given_inputs):
    wanted = outcomes(program, given_inputs, bare=True)
    compiled = jax.jit(function_of(program))
    for pair, outcome in zip(given_inputs, wanted, strict=True):
        note(f"inputs: {pair}")
        assert compiled(*arrays(pair)) == registers(outcome)


@fewer
@given(programs(reversible=True), some_inputs)
def test_the_gradient_without_a_collector(program, given_inputs):
    wanted = outcomes(program, given_inputs, bare=True, derive=True)
    function = function_of(program)
    compiled = jax.jit(jax.grad(lambda a, b: weighted(function(a, b)), argnums=(0, 1)))
    for pair, outcome in zip(given_inputs, wanted, strict=True):
        note(f"inputs: {pair}")
        assert compiled(*arrays(pair)) == outcome.derivatives


@many
@also([*corners.REVERSIBLE, *corners.OTHERS], (2, 6))
@given(programs(), inputs)
def test_collected_eagerly(program, pair):
    (wanted,) = outcomes(program, [pair])
    value, assertions = with_runtime_assertions(function_of(program))(*arrays(pair))
    check(assertions, expectations_of_one(program, wanted))
    assert value == registers(wanted)


@many
@also([*corners.REVERSIBLE, *corners.OTHERS])
@given(programs(), some_inputs)
def test_collected_and_compiled(program, given_inputs):
    wanted = outcomes(program, given_inputs)
    compiled = jax.jit(as_result_function(function_of(program)))
    for pair, outcome in zip(given_inputs, wanted, strict=True):
        note(f"inputs: {pair}")
        result = compiled(*arrays(pair))
        expected = expectations_of_one(program, outcome)
        check(result.assertions, expected)
        assert result.all_assertions_pass == (not any(e.failed.any() for e in expected))
        assert result.value == registers(outcome)


@many
@also([*corners.REVERSIBLE, *corners.OTHERS])
@given(programs(), some_inputs)
def test_collected_inside_a_vmap(program, given_inputs):
    wanted = outcomes(program, given_inputs)
    compiled = jax.jit(jax.vmap(as_result_function(function_of(program))))
    result = compiled(*jnp.asarray(given_inputs, jnp.float32).T)
    check(result.assertions, expectations(program, wanted))
    np.testing.assert_array_equal(np.stack(result.value, -1), list(map(registers, wanted)))


@many
@also(corners.REVERSIBLE)
@given(programs(reversible=True), some_inputs)
def test_collected_inside_a_gradient(program, given_inputs):
    wanted = outcomes(program, given_inputs, derive=True)

    def function(a, b):
        result = as_result_function(function_of(program))(a, b)
        return weighted(result.value), result

    compiled = jax.jit(jax.grad(function, argnums=(0, 1), has_aux=True))
    for pair, outcome in zip(given_inputs, wanted, strict=True):
        note(f"inputs: {pair}")
        slopes, result = compiled(*arrays(pair))
        check(result.assertions, expectations_of_one(program, outcome))
        assert result.value == registers(outcome)
        assert slopes == outcome.derivatives
