"""What twenty passing assertions add to a step, with the look from the host included.

The step computes twenty quantities and checks that each stays small. By hand, the same twenty
conditions become one boolean; nobody could say afterwards which of them failed.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .contestants import CONTESTANTS, Check, ahead_of_peers
from .timing import Claim, Effort, Outcome, race

CHECKS = 20


def tiny(x: Any) -> Any:
    """Arithmetic that takes less time than the call of a compiled function."""
    return 0.99 * x + 0.01


def medium(x: Any) -> Any:
    """About a millisecond of products of matrices."""
    for _ in range(12):
        x = jnp.tanh(x @ x.T)
    return x


def step(advance: Any, check: Check, x: Any) -> Any:
    x = advance(x)
    sizes = jnp.abs(x).max(axis=1)
    for number in range(CHECKS):
        size, limit = sizes[number], 10.0 + number
        message = "size {size} of quantity {number} exceeds {limit}"
        numbers = {"size": size, "number": number, "limit": limit}
        x = check(x, size < limit, message, **numbers)
    return x


def by_hand(advance: Any) -> Any:
    """The step with one boolean that says whether all conditions hold."""

    @jax.jit
    def run(x: Any) -> Any:
        conditions: list[Any] = []

        def note(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
            del message, numbers
            conditions.append(ok)
            return value

        return step(advance, note, x), functools.reduce(operator.and_, conditions)

    def checked(x: Any) -> Any:
        value, ok = run(x)
        if not np.asarray(ok):  # Five times as fast as the truth of a JAX array.
            raise AssertionError("some size exceeds its limit")
        return value

    return checked


def run(effort: Effort) -> Iterator[Outcome]:
    cases = {
        "tiny step": (tiny, jnp.full((CHECKS, 4), 0.5)),
        "medium step": (medium, jnp.full((96, 96), 0.01)),
    }
    for name, (advance, x) in cases.items():
        functions = {"one boolean by hand": by_hand(advance)}
        for key, contestant in CONTESTANTS.items():
            functions[key] = contestant.compiled(partial(step, advance))
        yield race(
            name,
            {key: partial(function, x) for key, function in functions.items()},
            effort,
            claims=(Claim("verax", "one boolean by hand", 1.3), *ahead_of_peers(functions)),
        )
