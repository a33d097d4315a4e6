"""The outputs of a scan that are taken for its last carry, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.queries.loops.scan_results import mixed_up
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Parts that are asked of one result of a scan, and that only the other one has."""
    for mixed in mixed_up(facts):
        yield RULE.finding(
            mixed.taken_at,
            current=f"`{mixed.text}` asks the {mixed.taken} of the scan for what only its "
            f"{mixed.wanted} has",
            expected="a scan returns the last carry first, and then what its body has put out",
            fix="take them in that order: `carry, outputs = jax.lax.scan(...)`",
            evidence=(
                Evidence(f"`{mixed.text}` is read here", mixed.read_at),
                Evidence("the scan is here", mixed.loop.place),
            ),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="SC204",
    name="scan-results-swapped",
    title="Outputs of a scan taken for its carry",
    family="scan",
    severity=Severity.ERROR,
    explanation="""\
`jax.lax.scan` returns the carry after the last step, and the outputs of all steps, in this order.
Reported where a field or a key is asked of one of the two that only the other one has.
""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Particle(NamedTuple):
    place: jax.Array
    speed: jax.Array

def entry(forces):
    def step(particle, force):
        speed = particle.speed + 0.1 * force
        return Particle(particle.place + 0.1 * speed, speed), {"speed": speed}

    history, last = jax.lax.scan(step, Particle(jnp.zeros(3), jnp.zeros(3)), forces)
    return history["speed"].max() + last.place.sum()

def inputs():
    return (jnp.ones((5, 3)),)
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Particle(NamedTuple):
    place: jax.Array
    speed: jax.Array

def entry(forces):
    def step(particle, force):
        speed = particle.speed + 0.1 * force
        return Particle(particle.place + 0.1 * speed, speed), {"speed": speed}

    last, history = jax.lax.scan(step, Particle(jnp.zeros(3), jnp.zeros(3)), forces)
    return history["speed"].max() + last.place.sum()

def inputs():
    return (jnp.ones((5, 3)),)
""",
    source=check_source,
)
