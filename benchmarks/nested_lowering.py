"""How long tracing and lowering take when the assertion sits inside nested scans.

Each measurement builds the functions anew, since JAX remembers what it has traced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from .contestants import CONTESTANTS, Check, no_check
from .timing import Claim, Effort, Outcome, race

LENGTH = 3


def nested(depth: int, check: Check, x: Any) -> Any:
    def innermost(x: Any, _: Any) -> tuple[Any, None]:
        x = jnp.sin(x)
        return check(x, x < 2.0, "x is {x}", x=x), None

    def around(body: Callable[..., Any]) -> Callable[..., Any]:
        def one_level(x: Any, _: Any) -> tuple[Any, None]:
            return jax.lax.scan(body, x, length=LENGTH)[0], None

        return one_level

    body = innermost
    for _ in range(depth):
        body = around(body)
    return body(x, None)[0]


def lower_bare(depth: int, x: Any) -> object:
    return jax.jit(lambda x: nested(depth, no_check, x)).lower(x)


def lower_checked(contestant: Any, depth: int, x: Any) -> object:
    return jax.jit(contestant.program(partial(nested, depth))).lower(x)


def run(effort: Effort) -> Iterator[Outcome]:
    x = jnp.float32(0.5)
    for depth in (1, 3) if effort.quick else range(1, 9):
        runs = {"bare": partial(lower_bare, depth, x)}
        for name, contestant in CONTESTANTS.items():
            # Chex works around compiled functions only.
            if name != "chex":
                runs[name] = partial(lower_checked, contestant, depth, x)
        claims = (Claim("verax", "bare", 3.0),)
        yield race(f"depth {depth}", runs, effort, claims=claims, rounds=15)
