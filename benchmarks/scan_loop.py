"""What an assertion inside a scan of a thousand steps costs.

By hand, the check is threaded through the carry: as a boolean only, or with the first failing
index and its value, which is what verax reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .contestants import CONTESTANTS, Check
from .timing import Claim, Effort, Outcome, race

LENGTH = 1_000
LIMIT = 10.0

Body = Callable[[Any], tuple[Any, Any]]


def cheap_body(x: Any) -> tuple[Any, Any]:
    """One number; a step and a value that must stay small."""
    x = 0.999 * x + 0.001
    return x, x


def heavier_body(x: Any) -> tuple[Any, Any]:
    """A product of small matrices; the value is its largest element."""
    x = jnp.tanh(x @ x)
    return x, x.max()


def checked_scan(body: Body, check: Check, x: Any) -> Any:
    def step(x: Any, _: Any) -> tuple[Any, None]:
        x, value = body(x)
        return check(x, value < LIMIT, "value {value} is too large", value=value), None

    return jax.lax.scan(step, x, length=LENGTH)[0]


def boolean_by_hand(body: Body) -> Any:
    @jax.jit
    def run(x: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            x, ok = carry
            x, value = body(x)
            return (x, ok & (value < LIMIT)), None

        return jax.lax.scan(step, (x, True), length=LENGTH)[0]

    def checked(x: Any) -> Any:
        x, ok = run(x)
        if not np.asarray(ok):  # Five times as fast as the truth of a JAX array.
            raise AssertionError("some value is too large")
        return x

    return checked


def report_by_hand(body: Body) -> Any:
    @jax.jit
    def run(x: Any) -> Any:
        def step(carry: Any, index: Any) -> Any:
            x, ok, first, kept = carry
            x, value = body(x)
            first = jnp.where(ok, index, first)
            kept = jnp.where(ok, value, kept)
            return (x, ok & (value < LIMIT), first, kept), None

        start = (x, True, jnp.int32(0), jnp.float32(0))
        return jax.lax.scan(step, start, jnp.arange(LENGTH))[0]

    def checked(x: Any) -> Any:
        x, ok, first, kept = run(x)
        if not np.asarray(ok):  # Five times as fast as the truth of a JAX array.
            raise AssertionError(f"value {kept} is too large in iteration {first}")
        return x

    return checked


def run(effort: Effort) -> Iterator[Outcome]:
    cases: dict[str, tuple[Body, Any]] = {
        "cheap body": (cheap_body, jnp.float32(0.5)),
        "heavier body": (heavier_body, jnp.full((24, 24), 0.01)),
    }
    for name, (body, x) in cases.items():
        functions = {
            "boolean by hand": boolean_by_hand(body),
            "boolean, index, value by hand": report_by_hand(body),
        }
        for key, contestant in CONTESTANTS.items():
            functions[key] = contestant.compiled(partial(checked_scan, body))
        yield race(
            name,
            {key: partial(function, x) for key, function in functions.items()},
            effort,
            claims=(
                Claim("verax", "boolean by hand", 1.1),
                Claim("verax", "boolean, index, value by hand", 1.1),
            ),
        )
