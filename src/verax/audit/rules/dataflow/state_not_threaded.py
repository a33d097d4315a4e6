"""A new state that nothing reads, while the old one goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls that give a new version of one of their arguments to a name that is never read."""
    from ...source.queries.versions import unthreaded

    for it in unthreaded(facts):
        yield RULE.finding(
            it.place,
            current=f"`{it.new}` is never read, and the old `{it.old}` {it.how}",
            expected=f"`{it.new}` takes the place of `{it.old}`",
            fix=f"assign it to `{it.old}`, or hand `{it.new}` on",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF105",
    name="state-not-threaded",
    title="A new state is computed, and the old one goes on",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    explanation="""\
Functions do not change the state that they are given, they return a new one. Where a loop calls
`new_state, metrics = step(state, batch)` and never hands `new_state` on, every turn starts from the
first state: nothing is learned, and nothing fails.

The names tell which value is a new version of which: `new_state`, `next_state` or `state_new` of
`state`. A name that begins with an underscore says that the new version is not needed.
""",
    wrong="""\
import jax.numpy as jnp

def step(state, x):
    return {"total": state["total"] + x}, x.mean()

def entry(state, xs):
    means = []
    for i in range(3):
        new_state, mean = step(state, xs[i])
        means.append(mean)
    return state, jnp.stack(means)

def inputs():
    return {"total": jnp.zeros(3)}, jnp.ones((3, 3))
""",
    right="""\
import jax.numpy as jnp

def step(state, x):
    return {"total": state["total"] + x}, x.mean()

def entry(state, xs):
    means = []
    for i in range(3):
        state, mean = step(state, xs[i])
        means.append(mean)
    return state, jnp.stack(means)

def inputs():
    return {"total": jnp.zeros(3)}, jnp.ones((3, 3))
""",
    source=check_source,
)
