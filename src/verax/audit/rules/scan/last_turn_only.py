"""A loop whose turns undo each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.queries.lost.last_turn import last_turns
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Names that every turn of a loop gives a value that starts from the same."""
    for it in last_turns(facts):
        current = f"every turn sets `{it.name}` anew, whatever it was after the turn before"
        fix = f"combine it with the `{it.name}` of the iterations before"
        if it.base:
            current = f"every turn writes into `{it.base}` as it was before the loop"
            fix = f"start with `{it.name} = {it.base}`, and write into `{it.name}`"
        yield RULE.finding(
            it.place,
            current=f"{current}: only the last turn has an effect",
            expected="each turn goes on with what the turn before has made",
            fix=fix,
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="SC008",
    name="last-turn-only",
    title="Only the last turn of a loop has an effect",
    family="scan",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
`y = x.at[i].set(value)` makes a copy of `x` with one other element. In a loop, the copy of each
turn replaces that of the turn before, so that of all elements only the last one is written. A
flag that each turn sets forgets that it was true before.
""",
    wrong="""\
import jax.numpy as jnp

def entry(x, values):
    for i in range(3):
        y = x.at[i].set(2.0 * values[i])
    return y

def inputs():
    return jnp.zeros(4), jnp.ones(3)
""",
    right="""\
import jax.numpy as jnp

def entry(x, values):
    y = x
    for i in range(3):
        y = y.at[i].set(2.0 * values[i])
    return y

def inputs():
    return jnp.zeros(4), jnp.ones(3)
""",
    source=check_source,
)
