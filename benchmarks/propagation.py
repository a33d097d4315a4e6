"""How many steps a second `verax.propagate` makes.

Against a loop by hand without any check, and against one that stops with the state from before
the step that failed, as `propagate` does. A call makes all steps, with the state copied first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import verax

from .contestants import no_check
from .timing import Claim, Effort, Outcome, race

LIMIT = 10.0


def cheap_step(check: Any, state: Any) -> Any:
    """A few operations on a few numbers."""
    x, v = state["x"], state["v"]
    v = 0.999 * v - 0.01 * x
    x = x + 0.01 * v
    speed = jnp.abs(v).max()
    x = check(x, speed < LIMIT, "speed {speed} exceeds {limit}", speed=speed, limit=LIMIT)
    return {"x": x, "v": v}


def heavier_step(check: Any, state: Any) -> Any:
    """All pairs of particles, some ten microseconds."""
    x, v = state["x"], state["v"]
    apart = x[:, None] - x[None, :]
    v = v - 0.01 * jnp.tanh(apart).mean(axis=1)
    x = x + 0.01 * v
    speed = jnp.abs(v).max()
    x = check(x, speed < LIMIT, "speed {speed} exceeds {limit}", speed=speed, limit=LIMIT)
    return {"x": x, "v": v}


def unchecked_loop(step: Any) -> Callable[[Any, int], Any]:
    @partial(jax.jit, donate_argnums=0)
    def run(state: Any, count: Any) -> Any:
        return jax.lax.fori_loop(0, count, lambda _, state: step(no_check, state), state)

    return lambda state, count: jax.block_until_ready(run(jax.tree.map(jnp.copy, state), count))


def stopping_loop(step: Any) -> Callable[[Any, int], Any]:
    @partial(jax.jit, donate_argnums=0)
    def run(state: Any, count: Any) -> Any:
        def unfinished(carry: Any) -> Any:
            done, ok, _ = carry
            return ok & (done < count)

        def advance(carry: Any) -> Any:
            done, _, state = carry
            conditions: list[Any] = []

            def note(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
                del message, numbers
                conditions.append(ok)
                return value

            after = step(note, state)
            (ok,) = conditions
            kept = jax.tree.map(partial(jnp.where, ok), after, state)
            return done + ok, ok, kept

        return jax.lax.while_loop(unfinished, advance, (jnp.int32(0), jnp.asarray(True), state))

    def checked(state: Any, count: int) -> Any:
        done, ok, state = run(jax.tree.map(jnp.copy, state), count)
        if not np.asarray(ok):  # Five times as fast as the truth of a JAX array.
            raise AssertionError(f"step {done} failed")
        return state

    return checked


def propagated(step: Any) -> Callable[[Any, int], Any]:
    def check(value: Any, ok: Any, message: str, /, **numbers: Any) -> Any:
        verax.runtime_assert(ok, message, numbers)
        return value

    checked_step = partial(step, check)

    def run(state: Any, count: int) -> Any:
        return jax.block_until_ready(
            verax.propagate(checked_step, state, count, progress=False).state
        )

    return run


def run(effort: Effort) -> Iterator[Outcome]:
    cases = {
        "cheap step": (cheap_step, 8, 200_000),
        "heavier step": (heavier_step, 64, 10_000),
        "large state": (cheap_step, 1_000_000, 200),
    }
    for name, (step, size, count) in cases.items():
        count = count // 100 if effort.quick else count
        state = {"x": jnp.linspace(0.0, 1.0, size), "v": jnp.zeros(size)}
        runs = {
            "no check": unchecked_loop(step),
            "boolean and rollback by hand": stopping_loop(step),
            "verax": propagated(step),
        }
        yield race(
            f"{name}, {count} steps",
            {key: partial(run, state, count) for key, run in runs.items()},
            effort,
            claims=(Claim("verax", "boolean and rollback by hand", 1.1),),
            unit="step",
            units=count,
            rounds=31,
        )
