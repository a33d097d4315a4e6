"""A count of steps that nothing advances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.training.standing_counters import standing_counters
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Counts that start at zero, are read in a step, and never get another value."""
    for it in standing_counters(facts):
        yield RULE.finding(
            it.place,
            current=f"`{it.field}` is read, and no copy of the state gives it another value: it "
            "stays zero",
            expected="each step counts itself",
            fix=f"replace it as well: `{it.field} + 1`",
            evidence=(Evidence("it is read here", it.read_at),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF117",
    name="count-stands",
    title="A count of steps is never advanced",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
Schedules, warm-ups and periodic updates read a count that is a field of a state. A state is never
changed in place: a step that replaces other fields and forgets the count reads zero for ever.
""",
    wrong="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class State(NamedTuple):
    x: jax.Array
    steps: jax.Array

def advance(state):
    rate = 1.0 / (1.0 * state.steps + 2.0)
    return state._replace(x=state.x * (1 - rate))

def entry(x):
    return advance(advance(State(x=x, steps=jnp.zeros(())))).x

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
from typing import NamedTuple

import jax
import jax.numpy as jnp

class State(NamedTuple):
    x: jax.Array
    steps: jax.Array

def advance(state):
    rate = 1.0 / (1.0 * state.steps + 2.0)
    return state._replace(x=state.x * (1 - rate), steps=state.steps + 1)

def entry(x):
    return advance(advance(State(x=x, steps=jnp.zeros(())))).x

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
