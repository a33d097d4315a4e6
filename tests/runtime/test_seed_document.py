"""The story of runtime assertions from first check to retry loop, with what it must print."""

from dataclasses import replace
from textwrap import dedent
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import Array

import verax
from verax import (
    LensCapacity,
    Result,
    as_result_function,
    dataclass,
    field,
    lens,
    runtime_assert,
    with_runtime_assertions,
)


@pytest.fixture
def prints(capsys: pytest.CaptureFixture[str]) -> Any:
    def check(expected: str) -> None:
        assert capsys.readouterr().out == dedent(expected).lstrip("\n")

    return check


def test_bare_and_collected(prints: Any) -> None:
    def compute(x: Array) -> Array:
        runtime_assert(x > 0, "x must be positive")
        return x**2

    print("bare:", jax.jit(compute)(jnp.array(-1.0)))
    compute_traced = with_runtime_assertions(compute)
    value, assertions = compute_traced(jnp.array(-1.0))
    print("traced value:", value)
    print("num assertions:", len(assertions))
    print("predicate:", assertions[0].predicate)
    prints("""
        bare: 1.0
        traced value: 1.0
        num assertions: 1
        predicate: False
    """)


def test_message_with_runtime_values(prints: Any) -> None:
    def checked_sqrt(x: Array) -> Array:
        runtime_assert(x >= 0, "Cannot take sqrt of {val}", fmt_args={"val": x})
        return jnp.sqrt(jnp.abs(x))

    checked_sqrt_traced = with_runtime_assertions(checked_sqrt)
    value, assertions = checked_sqrt_traced(jnp.array(4.0))
    print("value:", value, "pass:", assertions[0].predicate)
    value, assertions = checked_sqrt_traced(jnp.array(-4.0))
    print("value:", value, "pass:", assertions[0].predicate)
    with pytest.raises(AssertionError) as caught:
        assertions[0].check()
    print("error:", str(caught.value).split("\n")[0])
    prints("""
        value: 2.0 pass: True
        value: 2.0 pass: False
        error: Cannot take sqrt of -4.0
    """)


def test_inside_jit(prints: Any) -> None:
    @jax.jit
    @with_runtime_assertions
    def jitted_compute(x: Array) -> Array:
        runtime_assert(x > 0, "x must be positive, got {val}", fmt_args={"val": x})
        return x**2

    value, assertions = jitted_compute(jnp.array(5.0))
    print("pass:", assertions[0].predicate, "value:", value)
    value, assertions = jitted_compute(jnp.array(-1.0))
    print("pass:", assertions[0].predicate, "value:", value)
    prints("""
        pass: True value: 25.0
        pass: False value: 1.0
    """)


def test_result(prints: Any) -> None:
    @as_result_function
    def checked_divide(x: Array, y: Array) -> Array:
        runtime_assert(y != 0, "Division by zero: y={val}", fmt_args={"val": y})
        return x / y

    result = checked_divide(jnp.array(10.0), jnp.array(2.0))
    print("value:", result.value, "pass:", result.all_assertions_pass)
    result = checked_divide(jnp.array(10.0), jnp.array(0.0))
    print("value:", result.value, "pass:", result.all_assertions_pass)
    print("failed:", len(result.failed_assertions))
    prints("""
        value: 5.0 pass: True
        value: inf pass: False
        failed: 1
    """)


@dataclass
class State:
    buffer_size: int = field(static=True)
    data: Array


def test_fix(prints: Any) -> None:
    @as_result_function
    def process(state: State) -> Array:
        needed = 10
        runtime_assert(
            jnp.array(state.buffer_size >= needed),
            "Buffer too small: {size} < {needed}",
            fmt_args={"size": jnp.array(state.buffer_size), "needed": jnp.array(needed)},
            fix_fn=lambda s, new_size: replace(s, buffer_size=int(new_size)),
            fix_args=jnp.array(needed),
        )
        return state.data.sum()

    state = State(buffer_size=5, data=jnp.ones(5))
    result = process(state)
    print("pass:", result.all_assertions_pass)
    fixed_state = result.fix_or_raise(state)
    print("fixed buffer_size:", fixed_state.buffer_size)
    result = process(fixed_state)
    print("after fix:", result.all_assertions_pass)
    prints("""
        pass: False
        fixed buffer_size: 10
        after fix: True
    """)


@dataclass
class SimState:
    max_edges: int = field(static=True)
    positions: Array


def simulate(state: SimState) -> Array:
    capacity = LensCapacity(
        size=state.max_edges,
        size_lens=lens(lambda s: s.max_edges, cls=SimState),
    )
    actual_edges = jnp.array(150)
    capacity.generate_assertion(actual_edges)
    return state.positions.sum()


def test_capacity(prints: Any) -> None:
    state = SimState(max_edges=100, positions=jnp.ones((10, 3)))
    result = as_result_function(simulate)(state)
    print("pass:", result.all_assertions_pass)
    fixed = result.fix_or_raise(state)
    print("resized max_edges:", fixed.max_edges)
    prints("""
        pass: False
        resized max_edges: 256
    """)


def own_retry_loop(fn: Any, state: Any, max_retries: int = 5) -> Any:
    """The retry loop as a user would write it."""
    for attempt in range(max_retries):
        result: Result[Any] = fn(state)
        if result.all_assertions_pass:
            return result.value, state
        print(f"  retry {attempt + 1}: fixing failed assertions")
        state = result.fix_or_raise(state)
    raise RuntimeError("Too many retries")


def test_retry_loop(prints: Any) -> None:
    wrapped = as_result_function(simulate)
    state = SimState(max_edges=10, positions=jnp.ones((10, 3)))
    value, final_state = own_retry_loop(wrapped, state)
    print("final max_edges:", final_state.max_edges)
    print("value:", value)
    prints("""
          retry 1: fixing failed assertions
        final max_edges: 256
        value: 30.0
    """)


@pytest.mark.parametrize("compile_it", [False, True], ids=["eager", "jitted"])
def test_built_in_retry_loop_agrees(compile_it: bool) -> None:
    wrapped = as_result_function(simulate)
    state = SimState(max_edges=10, positions=jnp.ones((10, 3)))
    run = jax.jit(wrapped) if compile_it else wrapped
    value, final_state = verax.propagate_and_fix(run, state)
    assert (float(value), final_state.max_edges) == (30.0, 256)
