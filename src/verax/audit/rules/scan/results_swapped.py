"""The outputs of a scan that are taken for its last carry, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.queries.loops.scan_results import mixed_up, named_otherwise
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Parts that are asked of one result of a scan, and that only the other one has.

    Names of the two that say the opposite tell as much.
    """
    said: set[Place] = set()
    for mixed in mixed_up(facts):
        said.add(mixed.taken_at)
        yield RULE.finding(
            mixed.taken_at,
            current=f"`{mixed.text}` asks the {mixed.taken} of the scan for what only its "
            f"{mixed.wanted} has",
            expected="a scan returns the last carry first, and then what its body has put out",
            fix="take the last carry first, and the stacked outputs second",
            evidence=(
                Evidence(f"`{mixed.text}` is read here", mixed.read_at),
                Evidence("the scan is here", mixed.loop.place),
            ),
            engine=Engine.SOURCE,
        )
    for loop, place in named_otherwise(facts):
        if place not in said:
            said.add(place)
            yield RULE.finding(
                place,
                current="the first result of the scan, its last carry, has the name of all "
                "outputs, and these have the name of the last one",
                expected="a scan returns the last carry first, and then what its body has put out",
                fix="take the last carry first, and the stacked outputs second",
                evidence=(Evidence("the scan is here", loop.place),),
                engine=Engine.SOURCE,
                confidence=Confidence.LIKELY,
            )


RULE = Rule(
    code="SC204",
    name="scan-results-swapped",
    title="Outputs of a scan taken for its carry",
    family="scan",
    severity=Severity.ERROR,
    explanation="""\
`jax.lax.scan` returns the carry after the last step, and the outputs of all steps, in this order.
Reported where a field or a key is asked of one of the two that only the other one has, and where
their names say that they are taken in the other order.
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
