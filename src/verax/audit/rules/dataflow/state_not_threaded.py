"""A new state that nothing reads, while the old one goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Place, Severity
from ...source.queries.lost.dropped_carries import dropped_carries
from ...source.queries.lost.kept_fields import kept_fields
from ...source.queries.lost.stale_fields import stale_fields
from ...source.queries.lost.threading import dropped_once
from ...source.queries.lost.versions import unthreaded
from ...source.queries.training.stale_averages import stale_averages
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls that give a new version of one of their arguments to a name that is never read."""
    told: set[Place] = set()
    for it in unthreaded(facts):
        told.add(it.place)
        yield RULE.finding(
            it.place,
            current=f"`{it.new}` is never read, and the old `{it.old}` {it.how}",
            expected=f"`{it.new}` takes the place of `{it.old}`",
            fix=f"assign it to `{it.old}`, or use `{it.new}` from here on",
            evidence=(Evidence(f"`{it.new}` is made here", it.made_at),),
            engine=Engine.SOURCE,
        )
    for kept in kept_fields(facts):
        if kept.place not in told:
            yield RULE.finding(
                kept.place,
                current=f"`{kept.new}` is computed anew, and the record keeps the old `{kept.old}`",
                expected=f"the record is given `{kept.new}`",
                fix=f"pass `{kept.new}={kept.new}`",
                engine=Engine.SOURCE,
            )
    for it in dropped_once(facts):
        yield RULE.finding(
            it.place,
            current=f"the new `{it.state}` is dropped here, and the old one used on; "
            + (
                "other results of the call are handed on"
                if it.kept_at == it.place
                else f"{it.kept_at.line_from(it.place)} keeps it"
            ),
            expected=f"`{it.state}` is what the last call has made of it",
            fix=f"assign it: `{it.state}`",
            evidence=(Evidence(f"here `{it.state}` is threaded through", it.kept_at),),
            engine=Engine.SOURCE,
        )
    for it in dropped_carries(facts):
        yield RULE.finding(
            it.place,
            current=f"the scan has moved `{it.name}` on and its last carry is dropped; the "
            f"`{it.name}` that is returned is the one that it started from",
            expected=f"`{it.name}` is the carry that the scan returns",
            fix=f"assign the carry that the scan returns to `{it.name}`",
            evidence=(Evidence("the scan", it.loop.place),),
            engine=Engine.SOURCE,
        )
    for it in stale_fields(facts):
        where = f"given here together with the new `{it.beside}`" if it.beside else "read here"
        yield RULE.finding(
            it.place,
            current=f"the old `{it.old}` is {where}, for the next state; its new value is "
            f"`{it.new}`, made in {it.made_at.line_from(it.place)}",
            expected="what is computed of the next state is computed from its fields",
            fix=f"give it `{it.new}`",
            evidence=(Evidence(f"`{it.new}` is made here", it.made_at),),
            engine=Engine.SOURCE,
        )
    for average in stale_averages(facts):
        yield RULE.finding(
            average.place,
            current=f"the average takes the old `{average.old}`, which line "
            f"{average.updated_at.line} has updated before: it stays a step behind",
            expected="the average is one of the new parameters",
            fix="pass what `optax.apply_updates` returned",
            evidence=(Evidence("the new parameters are made here", average.updated_at),),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF105",
    name="state-not-threaded",
    title="A new state is computed, and the old one goes on",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explains=("DF101",),
    explanation="""\
Functions do not change the state that they are given, they return a new one. Where a loop calls
`new_state, metrics = step(state, batch)` and never hands `new_state` on, every turn starts from the
first state: nothing is learned, and nothing fails.

The names tell which value is a new version of which: `new_state`, `next_state` or `state_new` of
`state`, and `count = state.count + 1` of the field that a copy of `state` keeps. Where one call of
a function hands `state` on and another one drops it, that tells as much, and so does a scan whose
last carry is dropped in a function that returns the first one. Elsewhere a name that begins with an
underscore says that the new version is not needed.
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
