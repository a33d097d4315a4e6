"""Memories of two parts, of which flags make one start anew, or both."""

from __future__ import annotations

from textwrap import dedent

import pytest

from .claims import assert_claims

_CELL = """
def cell(p, h, c, x):
    i, f, g, o = jnp.split(x @ p["x"] + h @ p["h"], 4, axis=-1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(c), c


def inputs():
    p = {"x": jnp.ones((3, 16)), "h": jnp.ones((4, 16))}
    return p, jnp.ones((7, 5, 3)), jnp.zeros((7, 5, 1), bool), jnp.zeros((5, 4)), jnp.zeros((5, 4))
"""

FOUND = {
    "a factor for one": """
        def entry(p, xs, flags, h, c):
            def step(memory, inp):
                (h, c), (x, flag) = memory, inp
                h = h * (1.0 - flag)  # EN002
                h, c = cell(p, h, c, x)
                return (h, c), h

            return lax.scan(step, (h, c), (xs, flags))
    """,
    "a choice for one, in a method of a record, under vmap": """
        from typing import NamedTuple

        class Memory(NamedTuple):
            h: jax.Array
            c: jax.Array

            def fresh(self, flag):
                empty = jnp.zeros_like(self.h)
                return self._replace(h=jnp.where(flag, empty, self.h))  # EN002

        def run(p, xs, flags, memory):
            def step(memory, inp):
                x, flag = inp
                memory = Memory(*cell(p, *memory.fresh(flag), x))
                return memory, memory.h

            return lax.scan(step, memory, (xs, flags))

        def entry(p, xs, flags, h, c):
            return jax.vmap(run, in_axes=(None, 1, 1, 0))(p, xs, flags, Memory(h, c))
    """,
    "the inner part alone": """
        def entry(p, xs, flags, h, c):
            def step(memory, inp):
                x, flag = inp
                keep = 1.0 - flag.astype(jnp.float32)
                kept = {"c": keep * memory["c"], "h": memory["h"]}  # EN002
                h, c = cell(p, kept["h"], kept["c"], x)
                return {"c": c, "h": h}, h

            return lax.scan(step, {"c": c, "h": h}, (xs, flags))
    """,
}

SILENT = {
    "both": """
        def entry(p, xs, flags, h, c):
            def step(memory, inp):
                x, flag = inp
                h, c = jax.tree.map(lambda part: part * (1.0 - flag), memory)
                h, c = cell(p, h, c, x)
                return (h, c), h

            return lax.scan(step, (h, c), (xs, flags))
    """,
    "padding that stands still": """
        def entry(p, xs, flags, h, c):
            def step(memory, inp):
                (h, c), (x, flag) = memory, inp
                new_h, new_c = cell(p, h, c, x)
                return (jnp.where(flag, new_h, h), jnp.where(flag, new_c, c)), new_h * flag

            return lax.scan(step, (h, c), (xs, flags))
    """,
    "weights that are learned by traces which start anew": """
        def entry(p, xs, flags, w, z):
            def step(carry, inp):
                (w, z), (x, flag) = carry, inp
                z = 0.9 * jnp.where(flag, jnp.zeros_like(z), z) + x[:, :1]
                error = x.sum(-1, keepdims=True) - (w * z).sum(-1, keepdims=True)
                return (w + 0.1 * error * z, z), error

            return lax.scan(step, (w, z), (xs, flags))
    """,
    "a total of what starts anew": """
        def entry(p, xs, flags, now, total):
            def step(carry, inp):
                (now, total), (x, flag) = carry, inp
                now = jnp.where(flag, jnp.zeros_like(now), now) + x[:, :1]
                return (now, total + now), now

            return lax.scan(step, (now, total), (xs, flags))
    """,
    "a recursion whose factors the caller gives, beside the last value": """
        def entry(p, xs, flags, total, after):
            decay, mix = p["x"][0, :2]

            def step(carry, inp):
                (total, after), (x, flag) = carry, inp
                alive = 1.0 - flag
                change = x[:, :1] + 0.9 * alive * after - total.mean(-1, keepdims=True)
                return (change + decay * mix * alive * total, jnp.tanh(total + x[:, :1])), total

            return lax.scan(step, (total, after), (xs, flags), reverse=True)
    """,
    "flags that the network gets": """
        def entry(p, xs, flags, h, c):
            def step(memory, inp):
                (h, c), (x, flag) = memory, inp
                h, c = cell(p, h, c, jnp.where(flag, jnp.zeros_like(x), x))
                return (h, c), h

            return lax.scan(step, (h, c), (xs, flags))
    """,
}


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
def test_a_part_that_goes_on_is_found_where_the_other_starts_anew(program: str):
    assert_claims("env", _CELL + dedent(program))


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_parts_that_are_treated_alike_or_meant_to_last_are_left_alone(program: str):
    assert_claims("env", _CELL + dedent(program))
