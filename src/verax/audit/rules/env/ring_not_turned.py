"""A position in a circular buffer that runs out of it, or stays where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.episodes.rings import rings
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.queries.episodes.rings import Ring


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Buffers that are filled over and over, at a position that does not go round."""
    for ring in rings(facts):
        name = ring.position_name
        moved = ring.parts.get(name)
        if moved is None or moved is ring.position:
            current = f"what is stored next overwrites this: `{name}` stays where it is, while "
            current += f"`{ring.filled}` counts on"
            place = ring.parts[ring.filled].place or ring.frame.place(ring.syntax)
        elif _is_added_to(ring):
            current = f"`{name}` grows for ever, while `{ring.filled}` stops at the buffer's size: "
            current += "what is written beyond the end is dropped"
            place = moved.place or ring.frame.place(ring.syntax)
        elif ring.counts_otherwise():
            current = f"`{name}` moves on by another number than the one by which `{ring.filled}` "
            current += "counts what is written: rows are left out, or written over"
            place = moved.place or ring.frame.place(ring.syntax)
        else:
            continue
        yield RULE.finding(
            place,
            current=current,
            expected="after each write the position moves on, and from the end back to the start",
            fix=f"advance `{name}` by what was written, modulo the capacity of the buffer",
            evidence=(Evidence("this is written there", next(iter(ring.written.values())).place),),
            engine=Engine.SOURCE,
        )


def _is_added_to(ring: Ring) -> bool:
    """Whether a position only ever grows, and is used as it is."""
    moved = ring.parts[ring.position_name]
    grows = moved.operation == "+" and ring.position in moved.inputs
    return grows and (ring.at is ring.position or ring.at.operation == "+")


RULE = Rule(
    code="EN013",
    name="ring-not-turned",
    title="A circular buffer is not written in a circle",
    family="env",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
A replay buffer writes at a position that moves on with each write and starts again at the end. JAX
drops writes beyond the end of an array without a word, so a position that is not taken modulo the
size stops the buffer once it is full; one that never moves overwrites the same row.

Reported for a record whose arrays are written at one of its own numbers, while another of its
numbers counts up to a limit: so more is written than there is room for. Also where the two move by
different numbers: one is fixed, the other the size of what is written.""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Buffer(NamedTuple):
    data: jax.Array
    head: jax.Array
    filled: jax.Array


def add(buffer, row):
    data = buffer.data.at[buffer.head].set(row)
    filled = jnp.minimum(buffer.filled + 1, data.shape[0])
    return Buffer(data, buffer.head + 1, filled)


def entry(buffer, rows):
    return jax.lax.scan(lambda b, row: (add(b, row), None), buffer, rows)[0]


def inputs():
    return Buffer(jnp.zeros((4, 2)), jnp.array(0), jnp.array(0)), jnp.ones((9, 2))
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Buffer(NamedTuple):
    data: jax.Array
    head: jax.Array
    filled: jax.Array


def add(buffer, row):
    data = buffer.data.at[buffer.head].set(row)
    filled = jnp.minimum(buffer.filled + 1, data.shape[0])
    return Buffer(data, (buffer.head + 1) % data.shape[0], filled)


def entry(buffer, rows):
    return jax.lax.scan(lambda b, row: (add(b, row), None), buffer, rows)[0]


def inputs():
    return Buffer(jnp.zeros((4, 2)), jnp.array(0), jnp.array(0)), jnp.ones((9, 2))
""",
    source=check_source,
)
