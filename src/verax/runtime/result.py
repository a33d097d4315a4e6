"""A value and the assertions met while computing it, as one object."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import jax
from jax.core import Tracer

from .assertion import OnUnknown, with_runtime_assertions
from .outcome import InspectedWhileTracingError, RuntimeAssertion
from .packing import Layout, first_word, pack

P = ParamSpec("P")
V = TypeVar("V")
State = TypeVar("State")


@jax.tree_util.register_pytree_node_class
class Result(Generic[V]):
    """What a checked function returns.

    A pytree, so it passes through `jit`, `vmap` and `scan`. To learn that all is well costs
    the transfer of one boolean; everything else stays on the device, packed into a few buffers,
    until it is asked for.

    Example:
        >>> import jax.numpy as jnp
        >>> from verax import as_result_function, runtime_assert
        >>> @as_result_function
        ... def divide(x, y):
        ...     runtime_assert(y != 0, "division by zero")
        ...     return x / y
        >>> result = divide(jnp.array(1.0), jnp.array(0.0))
        >>> result.all_assertions_pass, len(result.failed_assertions)
        (False, 1)
    """

    def __init__(self, value: V, assertions: Sequence[RuntimeAssertion] = ()):
        self.value = value
        self._words, self._others, self._layout = pack(assertions)

    @property
    def assertions(self) -> list[RuntimeAssertion]:
        """All assertions, in program order."""
        return self._layout.unpack(self._words, self._others)

    @property
    def all_assertions_pass(self) -> bool:
        """Whether every assertion holds."""
        if isinstance(self._words, Tracer):
            raise InspectedWhileTracingError(
                "a Result was inspected while JAX is tracing, when it has no outcome yet. Return "
                "it from the compiled function and look at it outside, or use "
                "verax.check_assertions() for a boolean inside the computation."
            )
        return first_word(self._words)

    @property
    def failed_assertions(self) -> list[RuntimeAssertion]:
        """The assertions that do not hold, in program order."""
        if self.all_assertions_pass:
            return []
        return [assertion for assertion in self.assertions if assertion.failed]

    def raise_assertion(self) -> None:
        """Raise the first failure, with all others named in its notes."""
        failed = self.failed_assertions
        if failed:
            raise _exception(failed)

    def fix_or_raise(self, state: State) -> State:
        """The state after the fixes of all failures; raises those that have no fix."""
        failed = self.failed_assertions
        beyond_repair = [assertion for assertion in failed if assertion.fix_fn is None]
        if beyond_repair:
            raise _exception(beyond_repair)
        for assertion in failed:
            state = assertion.fix(state)
        return state

    def __repr__(self) -> str:
        if isinstance(self._words, Tracer):
            outcome = "being traced"
        elif self.all_assertions_pass:
            outcome = "all passed"
        else:
            outcome = f"{len(self.failed_assertions)} failed"
        return f"Result({self.value!r}, {len(self._layout)} assertions, {outcome})"

    def tree_flatten(self) -> tuple[tuple[Any, ...], Layout]:
        """The parts, for JAX."""
        return (self.value, self._words, self._others), self._layout

    @classmethod
    def tree_unflatten(cls, layout: Layout, parts: tuple[Any, ...]) -> Result[V]:
        """A result from its parts, for JAX."""
        result = object.__new__(cls)
        result.value, result._words, result._others = parts
        result._layout = layout
        return result


def as_result_function(
    fn: Callable[P, V], *, on_unknown: OnUnknown = "raise"
) -> Callable[P, Result[V]]:
    """Make a function that returns a `Result`: its value with all assertions met on the way.

    Works inside and around `jax.jit`. `on_unknown` is as for `with_runtime_assertions`.
    """
    checked = with_runtime_assertions(fn, on_unknown=on_unknown)

    @functools.wraps(fn)
    def function(*args: P.args, **kwargs: P.kwargs) -> Result[V]:
        return Result(*checked(*args, **kwargs))

    return function


def _exception(failed: Sequence[RuntimeAssertion]) -> Exception:
    """The exception of the first failure; it can still be caught by its own type."""
    error = failed[0].exception
    if len(failed) > 1:
        error.add_note(f"{len(failed) - 1} more failed in the same run:")
        for assertion in failed[1:]:
            text = str(assertion).replace("\n", "\n  ")
            error.add_note(f"  {assertion.exception_type.__name__}: {text}")
    return error
