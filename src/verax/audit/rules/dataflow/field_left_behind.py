"""A field that is not selected with the rest of its record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from ...source.queries.lost.left_behind import left_behind
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Fields that new records take as they are, beside others that are selected."""
    for it in left_behind(facts):
        yield RULE.finding(
            it.place,
            current=f"`{it.field}` is taken as it is, while beside it `{it.beside}` is not: "
            f"{it.how}",
            expected="all fields of a record are those of one and the same thing",
            fix=f"treat `{it.field}` as `{it.beside}`, or all by `jax.tree.map`",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF127",
    name="field-left-behind",
    title="A field is not selected with the rest of its record",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
Particles that are resampled, a batch that is reordered and a proposal that is accepted or refused
are records. What is decided about one field is decided about all: the velocities of other particles
than the positions, or the gradient at a point that was refused, belong to no state at all.

Reported where a record gets some fields of another one by an index and others, with as many rows,
as they are; and where chance decides between two records about some fields, and others are those of
the first one in any case.
""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Particles(NamedTuple):
    place: jax.Array
    speed: jax.Array

def resampled(particles, order):
    return Particles(particles.place[order], particles.speed)

def entry(place, speed, key):
    order = jax.random.categorical(key, -(place**2), shape=(8,))
    return resampled(Particles(place, speed), order)

def inputs():
    return jnp.ones(8), jnp.ones(8), jax.random.key(0)
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Particles(NamedTuple):
    place: jax.Array
    speed: jax.Array

def resampled(particles, order):
    return Particles(particles.place[order], particles.speed[order])

def entry(place, speed, key):
    order = jax.random.categorical(key, -(place**2), shape=(8,))
    return resampled(Particles(place, speed), order)

def inputs():
    return jnp.ones(8), jnp.ones(8), jax.random.key(0)
""",
    source=check_source,
)
