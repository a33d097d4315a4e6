"""Tables of small programs, each next to the assertions that must come out of it.

A case runs in several modes (eager, jitted and packed into a `Result`, vmapped) and is compared
on value, number of assertions, predicate, message and fix. Programs work on small integers, so
that all values are exact.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax import as_result_function, runtime_assert, with_runtime_assertions
from verax.runtime import FIRST, RuntimeAssertion

ANYTHING = object()


@dataclass(frozen=True)
class Expected:
    """One assertion as it must come out. `lane` has an entry for each axis that `vmap` added."""

    predicate: Any
    text: str | None = None
    iteration: Sequence[int] | None = None
    lane: Sequence[int] = ()
    fix: Any = ANYTHING

    def circumstances(self) -> list[str]:
        lines: list[str] = []
        if self.iteration is not None:
            lines.append(f"  first failure in iteration {', '.join(map(str, self.iteration))}")
        if self.lane:
            predicate = np.asarray(self.predicate)
            axes = tuple(range(len(self.lane), predicate.ndim))
            failed = ~predicate.all(axis=axes)
            lines.append(
                f"  first failure in lane {', '.join(map(str, self.lane))}; "
                f"{failed.sum()} of {failed.size} failed"
            )
        return lines

    def batched(self, first_passes: bool) -> Expected:
        """The same in a batch of two: all passes in the first lane, or both lanes are alike."""
        one = np.asarray(self.predicate)
        predicate = np.stack([np.ones_like(one) if first_passes else one, one])
        lane = (1 if first_passes else 0, *self.lane) if self.text is not None else ()
        return replace(self, predicate=predicate, lane=lane)


def passes(*shape: int) -> Expected:
    return Expected(np.ones(shape, bool))


def fails(text: str, *, predicate: Any = False, **rest: Any) -> Expected:
    return Expected(predicate, text, **rest)


def small(x: Any, *, law: Any = FIRST, name: str = "x") -> None:
    """Assert that a value is below five; a fix receives the value."""
    runtime_assert(
        jnp.asarray(x) < 5,
        name + " is {x}",
        {"x": x},
        fix_fn=lambda state, needed: needed,
        fix_args=x,
        fix_law=law,
    )


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    program: Callable[..., Any]
    args: tuple[Any, ...]
    calm: tuple[Any, ...] | None
    expected: Sequence[Expected]
    modes: Sequence[str]
    tolerance: float

    def __str__(self) -> str:
        return self.name

    @functools.cached_property
    def bare(self) -> Any:
        return self.program(*self.args)

    @functools.cached_property
    def batch(self) -> tuple[Any, ...]:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), self.calm or self.args, self.args)

    @functools.cached_property
    def bare_batch(self) -> Any:
        first = self.bare if self.calm is None else self.program(*self.calm)
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), first, self.bare)

    def check(self, mode: str) -> None:
        value, assertions = RUN[mode](self)
        in_batch = mode.startswith("vmap")
        compare_trees(value, self.bare_batch if in_batch else self.bare, self.tolerance)
        expected = [
            one.batched(self.calm is not None) if in_batch else one for one in self.expected
        ]
        assert len(assertions) == len(expected), "\n".join(map(str, assertions))
        for assertion, one in zip(assertions, expected, strict=True):
            compare(assertion, one)


def compare(assertion: RuntimeAssertion, expected: Expected) -> None:
    np.testing.assert_array_equal(assertion.predicate, expected.predicate, strict=True)
    assert assertion.predicate.dtype == bool
    assert assertion.valid is (expected.text is None)
    assert assertion.failed is (expected.text is not None)
    first, place, *circumstances = str(assertion).splitlines()
    assert place.startswith("  asserted at ")
    assert circumstances == expected.circumstances(), str(assertion)
    if expected.text is not None:
        assert first == expected.text, f"{first!r} is not {expected.text!r}"
        with pytest.raises(assertion.exception_type, match=r".") as caught:
            assertion.check()
        assert str(caught.value) == str(assertion)
    if expected.fix is not ANYTHING:
        compare_trees(assertion.fix(None), expected.fix)


def compare_trees(actual: Any, expected: Any, tolerance: float = 0) -> None:
    assert jax.tree.structure(actual) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        compare_arrays(one, other, tolerance)


def compare_arrays(actual: Any, expected: Any, tolerance: float) -> None:
    if isinstance(expected, jax.Array):
        assert actual.dtype == expected.dtype
        if jnp.issubdtype(expected.dtype, jax.dtypes.prng_key):
            actual, expected = jax.random.key_data(actual), jax.random.key_data(expected)
    if tolerance:
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(actual, expected)


@functools.cache
def _compiled(mode: str, program: Callable[..., Any]) -> Callable[..., Any]:
    """Shared by all cases of a program."""
    if mode == "jitted":
        return jax.jit(as_result_function(program))
    if mode == "vmap_inside":
        return jax.jit(with_runtime_assertions(jax.vmap(program)))
    return jax.jit(jax.vmap(with_runtime_assertions(program)))


def _jitted(case: Case) -> tuple[Any, Any]:
    """Also packed into a `Result`; what is vmapped is compiled without packing."""
    result = _compiled("jitted", case.program)(*case.args)
    assert result.all_assertions_pass is all(one.text is None for one in case.expected)
    return result.value, result.assertions


RUN: dict[str, Callable[[Case], tuple[Any, Any]]] = {
    "eager": lambda case: with_runtime_assertions(case.program)(*case.args),
    "jitted": _jitted,
    "vmap_inside": lambda case: _compiled("vmap_inside", case.program)(*case.batch),
    "vmap_outside": lambda case: _compiled("vmap_outside", case.program)(*case.batch),
}
MODES = tuple(RUN)
UNBATCHED = ("eager", "jitted")
# Around a collected program, `vmap` meets JAX's own loops and branches only. It adds something
# where lanes differ, hence for cases that have a calm lane.
ALIKE = ("eager", "jitted", "vmap_inside")


class Table:
    """Cases, filled by a decorator on each program."""

    def __init__(self, modes: Sequence[str] | None = None):
        self.modes = modes
        self.cases: list[Case] = []

    def __call__(
        self,
        *args: Any,
        expect: Sequence[Expected],
        calm: tuple[Any, ...] | None = None,
        modes: Sequence[str] | None = None,
        name: str | None = None,
        tolerance: float = 0,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        arrays = tuple(map(_array, args))
        quiet = None if calm is None else tuple(map(_array, calm))
        chosen = modes or self.modes or (ALIKE if calm is None else MODES)

        def add(program: Callable[..., Any]) -> Callable[..., Any]:
            title = name or program.__name__
            self.cases.append(Case(title, program, arrays, quiet, expect, chosen, tolerance))
            return program

        return add

    def in_all_modes(self) -> Any:
        pairs = [(case, mode) for case in self.cases for mode in case.modes]
        return pytest.mark.parametrize(
            ("case", "mode"), pairs, ids=[f"{case}-{mode}" for case, mode in pairs]
        )


def _array(value: Any) -> Any:
    return value if isinstance(value, jax.Array) else jnp.asarray(value)
