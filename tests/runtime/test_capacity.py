"""Capacities: what they assert, how far they grow, and that one retry is enough."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from verax import (
    CapacityError,
    FixedCapacity,
    LensCapacity,
    as_result_function,
    dataclass,
    field,
    lens,
    propagate_and_fix,
)
from verax.runtime.capacity import LensCapacityFix, MultipliedCapacity
from verax.runtime.growth import grown


@dataclass
class State:
    edges: int = field(static=True)
    shape: tuple[int, int] = field(default=(1, 1), static=True)


EDGES = lens(lambda s: s.edges, cls=State)
SHAPE = lens(lambda s: s.shape, cls=State)


def after_repair(state: State, required: Any, base: float = 2.0) -> State:
    @jax.jit
    @as_result_function
    def run(required: Any) -> Any:
        LensCapacity(state.edges, EDGES, base).generate_assertion(required)
        return required

    return run(jnp.asarray(required)).fix_or_raise(state)


@given(
    required=st.integers(0, 2**70),
    base=st.sampled_from([2, 2.0, 3, 5, 10, 1.5, 1.1, 1.25, 2.5, 7.3]),
)
@example(required=125, base=5)
@example(required=2**24 + 1, base=2)
@example(required=2**31, base=2)
@example(required=2**53 + 1, base=2)
@example(required=1, base=2)
@example(required=0, base=2)
def test_growth_is_the_smallest_power_that_suffices(required: int, base: float) -> None:
    exact, power = Fraction(str(base)), Fraction(1)
    while power < required:
        power *= exact
    expected = -(-power.numerator // power.denominator) if required > 0 else required
    assert grown(required, base) == expected


@given(st.integers(0, 10**12), st.sampled_from([1, 1.0, 0.5, 0, -2]))
def test_growth_is_exact_without_a_base(required: int, base: float) -> None:
    assert grown(required, base) == required


@pytest.mark.parametrize(
    ("size", "required", "expected"),
    [(100, 150, 256), (100, 100, 100), (100, 101, 128), (300, 150, 300), (0, 1, 1), (1, 2, 2)],
)
def test_a_capacity_grows_to_a_power_of_two_and_never_shrinks(
    size: int, required: int, expected: int
) -> None:
    assert after_repair(State(size), required).edges == expected


def test_a_base_of_one_grows_to_exactly_what_is_needed() -> None:
    assert after_repair(State(100), 150, base=1).edges == 150


def test_the_largest_of_a_batch_of_requirements_counts() -> None:
    assert after_repair(State(4), [[3, 9], [17, 2]]).edges == 32


def test_parts_of_a_size_grow_independently() -> None:
    state = State(1, (4, 100))

    @as_result_function
    def run() -> Any:
        LensCapacity(state.shape, SHAPE).generate_assertion(jnp.array([[5, 7], [3, 90]]))
        return jnp.array(0)

    assert run().fix_or_raise(state).shape == (8, 100)


def test_one_repair_suffices_for_all_failures_of_a_loop() -> None:
    needs = jnp.array([3, 40, 500, 6])

    @as_result_function
    def run(state: State) -> Any:
        def body(total: Any, need: Any) -> Any:
            LensCapacity(state.edges, EDGES).generate_assertion(need)
            return total + need, None

        return jax.lax.scan(body, 0, needs)[0]

    value, state = propagate_and_fix(run, State(4), max_retries=1)
    assert (int(value), state.edges) == (549, 512)


def test_one_repair_suffices_for_all_lanes_and_all_capacities() -> None:
    @as_result_function
    def run(state: State) -> Any:
        def lane(need: Any) -> Any:
            LensCapacity(state.edges, EDGES).generate_assertion(need)
            LensCapacity(state.shape, SHAPE).generate_assertion(jnp.stack([need, need + 1]))
            return need

        return jax.vmap(lane)(jnp.array([9, 70, 3]))

    _, state = propagate_and_fix(run, State(4), max_retries=1)
    assert (state.edges, state.shape) == (128, (128, 128))


def test_tracing_returns_the_capacity_itself_and_eager_code_the_grown_one() -> None:
    capacity = LensCapacity(100, EDGES)
    assert capacity.generate_assertion(jnp.array(150)).size == 256
    assert capacity.generate_assertion(jnp.array(50)).size == 100
    seen: list[Any] = []

    @jax.jit
    def run(required: Any) -> Any:
        seen.append(capacity.generate_assertion(required))
        return required

    run(jnp.array(150))
    assert seen == [capacity]


def test_sizes_beyond_the_type_of_the_requirement_still_compare() -> None:
    largest = 2**31 - 1
    assert as_result_function(lambda n: LensCapacity(2**40, EDGES).generate_assertion(n).size)(
        jnp.array(largest, jnp.int32)
    ).all_assertions_pass
    assert after_repair(State(100), jnp.array(largest, jnp.int32)).edges == 2**31


def test_a_requirement_that_overflowed_is_an_error_and_no_repair() -> None:
    overflowed = np.array(2**31 - 1, np.int32) + np.int32(0)
    with pytest.raises(CapacityError, match="negative: the count has overflowed its type, int32"):
        after_repair(State(100), jnp.asarray(overflowed) + jnp.int32(1))


def test_a_fixed_capacity_raises_with_its_own_advice() -> None:
    def run(n: Any) -> Any:
        FixedCapacity(8, "raise {slots}").generate_assertion(n)
        return n

    result = jax.jit(as_result_function(run))(jnp.array(9))
    with pytest.raises(CapacityError) as caught:
        result.fix_or_raise(None)
    first_line = str(caught.value).splitlines()[0]
    assert first_line == "capacity exceeded: 9 needed, 8 available. raise {slots}"


def test_a_multiplied_capacity_grows_its_base_by_its_share() -> None:
    state = State(10)

    @as_result_function
    def run(needed: Any) -> Any:
        capacity: MultipliedCapacity[int] = LensCapacity(state.edges, EDGES).multiply(3)
        assert capacity.size == 30
        capacity.generate_assertion(needed)
        return needed

    assert run(jnp.array(30)).all_assertions_pass
    assert run(jnp.array(31)).fix_or_raise(state).edges == 16
    assert run(jnp.array(49)).fix_or_raise(state).edges == 32


def test_the_fix_alone_sets_the_larger_of_both() -> None:
    fix = LensCapacityFix(EDGES)
    assert fix(State(100), jnp.array(120)).edges == 120
    assert fix(State(100), jnp.array([90, 20])).edges == 100


def message(capacity: Any, required: Any) -> str:
    def run(required: Any) -> Any:
        capacity.generate_assertion(required)
        return required

    (failed,) = jax.jit(as_result_function(run))(jnp.asarray(required)).failed_assertions
    assert failed.exception_type is CapacityError
    return str(failed).splitlines()[0]


def test_messages_tell_capacities_apart() -> None:
    assert message(LensCapacity(1, EDGES), 7) == (
        "capacity of state.edges exceeded: 7 needed, 1 available."
    )
    assert message(LensCapacity((1, 5), SHAPE), [7, 2]) == (
        "capacity of state.shape exceeded: [7 2] needed, (1, 5) available."
    )
    assert message(LensCapacity(1, EDGES, name="{pairs}"), 7) == (
        "capacity of {pairs} exceeded: 7 needed, 1 available."
    )
    assert message(FixedCapacity(1, name="slots"), 7) == (
        "capacity of slots exceeded: 7 needed, 1 available."
    )
    computed: Any = lens(lambda s: s.edges + 1)
    assert message(LensCapacity(1, computed), 7) == "capacity exceeded: 7 needed, 1 available."


def test_a_fixed_capacity_is_multiplied_at_once() -> None:
    slots = FixedCapacity(10, "buy more", "slots").multiply(3)
    assert slots == FixedCapacity(30, "buy more", "slots")
    assert message(slots, 31) == "capacity of slots exceeded: 31 needed, 30 available. buy more"


DICT = {"atoms": 100, "bonds": 50}


def test_sizes_may_be_in_a_dict() -> None:
    capacity = LensCapacity(DICT, lens(lambda s: s["sizes"]))
    assert capacity.generate_assertion(jnp.array([150, 40])).size == {"atoms": 256, "bonds": 50}
    assert message(capacity, [150, 40]) == (
        f"capacity of state['sizes'] exceeded: [150  40] needed, {DICT} available."
    )
    assert message(FixedCapacity(DICT), [150, 40]).endswith(f"needed, {DICT} available.")


def test_a_dict_of_sizes_that_are_fields_of_their_own() -> None:
    @dataclass
    class Sizes:
        atoms: int = field(static=True)
        bonds: int = field(static=True)

    both = lens(lambda s: {"atoms": s.atoms, "bonds": s.bonds}, cls=Sizes)

    @jax.jit
    @as_result_function
    def run(state: Sizes) -> Any:
        LensCapacity(both.get(state), both).generate_assertion(jnp.array([5, 600]))
        return jnp.zeros(state.bonds)

    value, state = propagate_and_fix(run, Sizes(100, 50), max_retries=1)
    assert (value.shape, state) == ((1024,), Sizes(100, 1024))


@pytest.mark.parametrize("size", [10, (10, 20), DICT], ids=str)
def test_capacities_go_into_compiled_code_without_a_new_compilation(size: Any) -> None:
    traced: list[Any] = []

    @jax.jit
    def run(capacity: Any, x: Any) -> Any:
        traced.append(capacity)
        return x + sum(jax.tree.leaves(capacity.size)), capacity

    for make in (lambda s: LensCapacity(s, EDGES, name="a"), FixedCapacity):
        traced.clear()
        total, back = run(make(size), 1)
        run(make(jax.tree.map(int, size)), 1)
        assert total == 1 + sum(jax.tree.leaves(size))
        assert traced == [make(size)] == [back]
        assert hash(back) == hash(make(size))
        assert back != make(jax.tree.map(lambda one: one + 1, size))


def test_one_size_takes_requirements_of_any_shape() -> None:
    for required in (11, [11], [3, 11], [[11, 2]]):
        assert LensCapacity((10,), SHAPE).generate_assertion(jnp.array(required)).size == (16,)
        assert LensCapacity(10, EDGES).generate_assertion(jnp.array(required)).size == 16


def test_no_requirement_at_all_is_met() -> None:
    nothing = jnp.zeros((0, 2), jnp.int32)
    assert LensCapacity((1, 2), SHAPE).generate_assertion(nothing).size == (1, 2)
    assert LensCapacity(0, EDGES).generate_assertion(nothing).size == 0


@pytest.mark.parametrize("overflowed", [-1, -2, -(2**31)])
def test_an_overflow_is_seen_through_a_multiplied_capacity(overflowed: int) -> None:
    @as_result_function
    def run(needed: Any) -> Any:
        LensCapacity(10, EDGES).multiply(3).generate_assertion(needed)
        return needed

    with pytest.raises(CapacityError, match=rf"^capacity of state.edges: {overflowed} needed"):
        run(jnp.int32(overflowed)).fix_or_raise(State(10))


@pytest.mark.parametrize("factor", [0, -1, 1.5])
def test_a_factor_is_a_positive_whole_number(factor: Any) -> None:
    for capacity in (FixedCapacity(1), LensCapacity(1, EDGES), LensCapacity(1, EDGES).multiply(2)):
        with pytest.raises(ValueError, match="factor is a whole number of at least 1, and is"):
            capacity.multiply(factor)


@pytest.mark.parametrize("base", [float("nan"), float("inf")])
def test_a_base_is_finite(base: float) -> None:
    with pytest.raises(ValueError, match="base is a finite number, of which sizes are powers"):
        LensCapacity(1, EDGES, base)


@pytest.mark.parametrize(
    ("size", "required", "message"),
    [
        (10, jnp.array(1.5), "made of integers, not of float32"),
        ((1, 2), jnp.array([1, 2, 3]), "has 2 sizes"),
        ((1, 2), jnp.array(1), "has 2 sizes"),
        (-1, jnp.array(1), "not negative"),
        ("many", jnp.array(1), "pytree of such numbers, not 'many'"),
    ],
)
def test_wrong_sizes_and_requirements_are_named(size: Any, required: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        FixedCapacity(size).generate_assertion(required)


def test_capacities_are_pytrees_without_leaves() -> None:
    capacity = LensCapacity(10, EDGES)
    assert jax.tree.leaves(capacity) == []
    assert replace(capacity, size=20).size == 20
