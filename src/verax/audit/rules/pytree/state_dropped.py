"""A new state that is computed and dropped, while the old one is used on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.lost.dropped_states import dropped_states
from ...source.queries.lost.merged_models import merged_models
from ...source.queries.lost.outputs_alone import outputs_alone
from ...source.queries.lost.trained_states import trained_states
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check(facts: Facts) -> Iterator[Finding]:
    """Lines that drop a moving average, or a named state that nothing reads."""
    from ...trace.describe import name_of
    from ...trace.dropped_states import dropped_states

    for it in dropped_states(facts):
        old = name_of(facts, it.old)
        use = Evidence(f"`{old}` is used again here", it.used_by.place) if it.used_by else None
        statement = facts.sources.statement(it.place)
        text = statement.text if statement else "a line"
        target = f" (`{it.target}`)" if it.target else ""
        yield RULE.finding(
            it.place,
            current=f"`{text}` computes a new version of `{old}` and drops it{target}; the old one "
            f"is {'used again' if use else 'returned'}",
            expected="the new state replaces the old one",
            fix="Assign the updated state, and pass or return it in place of the old one.",
            evidence=(use,) if use else (),
        )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Unpacked results of which the new state has no name, while the old one is used on."""
    found = [*dropped_states(facts), *outputs_alone(facts), *merged_models(facts)]
    known = {it.text for it in found}
    for it in (*found, *(it for it in trained_states(facts) if it.text not in known)):
        yield RULE.finding(
            it.place,
            current=f"`{it.text}` gives a new version of {it.what}, and it is dropped",
            expected="the new state replaces the old one",
            fix="Assign the updated state, and pass or return it in place of the old one.",
            evidence=(Evidence("the old one is used again here", it.used),) if it.used else (),
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="PT105",
    name="state-dropped",
    title="Updated state is dropped",
    family="pytree",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    by_absence=True,
    explanation="""\
Functions that update a state return it. Where the new running averages of a batch norm, or the
new state of an optimiser, are dropped, the old ones stay in use and never change.
""",
    wrong="""\
import jax.numpy as jnp

def batch_norm(stats, x):
    mean = x.mean(axis=0)
    return x - mean, {"mean": 0.9 * stats["mean"] + 0.1 * mean}

def entry(stats, x):
    y, _ = batch_norm(stats, x)
    return y, x - stats["mean"]

def inputs():
    return {"mean": jnp.zeros(3)}, jnp.ones((5, 3))
""",
    right="""\
import jax.numpy as jnp

def batch_norm(stats, x):
    mean = x.mean(axis=0)
    return x - mean, {"mean": 0.9 * stats["mean"] + 0.1 * mean}

def entry(stats, x):
    y, stats = batch_norm(stats, x)
    return y, x - stats["mean"], stats

def inputs():
    return {"mean": jnp.zeros(3)}, jnp.ones((5, 3))
""",
    trace=check,
    source=check_source,
)
