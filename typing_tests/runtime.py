# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What an editor infers about checked functions."""

from typing import assert_type

import jax
from jax import Array

import verax


def norm(x: Array, *, order: int = 2) -> Array:
    verax.runtime_assert(x > 0, "x is {x}", {"x": x}, exception_type=ValueError)
    verax.runtime_assert(True, "always")
    verax.runtime_assert(x > 0, "x is {x}", exception_type=3)  # pyright: ignore[reportArgumentType]
    return x**order


def advance(state: dict[str, Array]) -> dict[str, Array]:
    assert_type(verax.check_assertions(), Array)
    return state


def collecting(x: Array) -> None:
    value, assertions = verax.with_runtime_assertions(norm)(x, order=3)
    assert_type(value, Array)
    assert_type(assertions, list[verax.RuntimeAssertion])
    assert_type(assertions[0].failed, bool)
    assert_type(assertions[0].exception, Exception)
    assert_type(assertions[0].fix({"size": 3}), dict[str, int])
    assert_type(str(assertions[0]), str)


def results(x: Array, state: dict[str, Array]) -> None:
    checked = verax.as_result_function(norm)
    assert_type(checked(x, order=3), verax.Result[Array])
    checked(x, ordre=3)  # pyright: ignore[reportCallIssue]
    result = checked(x)
    assert_type(result.value, Array)
    assert_type(result.all_assertions_pass, bool)
    assert_type(result.failed_assertions, list[verax.RuntimeAssertion])
    assert_type(result.fix_or_raise(state), dict[str, Array])


def retrying(state: dict[str, Array]) -> None:
    checked = verax.as_result_function(advance)
    assert_type(
        verax.propagate_and_fix(checked, state, max_retries=3),
        tuple[dict[str, Array], dict[str, Array]],
    )
    verax.propagate_and_fix(jax.jit(checked), state)  # JAX does not tell what a jitted one returns
    verax.propagate_and_fix(advance, state)  # pyright: ignore[reportArgumentType]

    run = verax.propagate(advance, state, 10)
    assert_type(run, verax.Propagation[dict[str, Array]])
    assert_type(run.repairs, tuple[verax.Repair, ...])

    repairs: list[verax.Repair] = []
    verax.propagate(advance, state, 10, on_repair=repairs.append)
    verax.propagate(advance, state, 10, on_repair=advance)  # pyright: ignore[reportArgumentType]
