"""A value that is replaced before anybody has read it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.queries.lost.last_turn import restarts
from ...source.queries.lost.lost_totals import lost_totals
from ...source.queries.lost.overwritten import overwritten_values
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Names that are given a value anew, from what the unread one was made of."""
    for it in overwritten_values(facts):
        lost = it.computed.line_from(it.replaced)
        current = f"`{it.name}` starts again from `{it.source}`: what {lost} made of it is lost"
        fix = f"Use `{it.name}` instead of `{it.source}` here, or remove {lost}."
        if it.is_gradient:
            current = f"`{it.name}` is replaced here before the gradient of {lost} was applied"
            fix = "Give each gradient a name of its own, and apply each to its parameters."
        yield RULE.finding(
            it.replaced,
            current=current,
            expected="a value that is computed is read before its name gets another one",
            fix=fix,
            evidence=(Evidence(f"`{it.name}` is computed here, and never read", it.computed),),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )
    for turn in restarts(facts):
        yield RULE.finding(
            turn.place,
            current=f"every turn starts again from `{turn.base}`, and replaces the `{turn.name}` "
            "of the turn before: only the last one has an effect",
            expected="each turn goes on with what the turn before has made",
            fix=f"Use `{turn.name}` instead of `{turn.base}` here.",
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )
    for it in lost_totals(facts):
        yield RULE.finding(
            it.place,
            current=f"`{it.total}` becomes the sum of what is new, and what it was is lost, while "
            f"`{it.count}`, by which it is divided, goes on counting",
            expected="a total and its count are both added up, or both begin anew",
            fix=f"Add the old `{it.total}` to this sum.",
            evidence=(Evidence("divided here", it.divided),),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


RULE = Rule(
    code="DF115",
    name="overwritten-unread",
    title="A value is replaced before it is read",
    family="dataflow",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
A name is given a value, and another one before anybody has read the first. Where the second is
computed from what the first was computed from, a step of a chain has no effect: a layer is
skipped, an update is undone. So it is with the turns of a loop over layers that all start from the
input. A gradient that is lost like this trains nothing. A running total that is replaced by the
newest sum, while its count goes on, gives a mean that shrinks with each update.
""",
    wrong="""\
import jax.numpy as jnp

def entry(x, w, v):
    hidden = jnp.tanh(x @ w)
    hidden = x @ v
    return hidden.sum()

def inputs():
    return jnp.ones((2, 3)), jnp.ones((3, 3)), jnp.ones((3, 3))
""",
    right="""\
import jax.numpy as jnp

def entry(x, w, v):
    hidden = jnp.tanh(x @ w)
    hidden = hidden @ v
    return hidden.sum()

def inputs():
    return jnp.ones((2, 3)), jnp.ones((3, 3)), jnp.ones((3, 3))
""",
    source=check_source,
)
