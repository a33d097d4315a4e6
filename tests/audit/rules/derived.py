"""Arguments for programs that take derivatives."""

from __future__ import annotations

from textwrap import dedent

_VECTOR = "def inputs(): return jnp.arange(1.0, 4.0), jnp.ones(3)\n"
_BATCH = (
    "def inputs(): return {'w': jnp.ones((3, 2)), 'v': jnp.ones(2)}, jnp.ones((5, 3)), "
    "jnp.ones(5), jnp.ones((5, 3)), jnp.zeros(5)\n"
)


def with_inputs(program: str) -> str:
    """A program with its arguments: of a loss on a batch, or two vectors."""
    program = dedent(program)
    needs_batch = "def entry(*args)" in program or "def entry(params" in program
    return program + (_BATCH if needs_batch else _VECTOR)
