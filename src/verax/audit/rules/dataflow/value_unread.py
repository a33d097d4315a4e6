"""A value that is computed for nobody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.queries.lost.dropped import dropped_values
from ...source.queries.lost.unread_siblings import doubled
from ...source.queries.lost.unread_twins import unread_twins
from ...source.queries.lost.unread_values import unread_containers, unread_values
from ...source.queries.lost.unread_versions import unread_versions
from ...source.queries.lost.versions import unthreaded
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Names that get a value which nothing reads."""
    found = list(unread_values(facts))
    # Where something is used in its place, that is told at that place.
    instead = (dropped_values, unread_versions, unread_twins)
    told = {it.place for query in instead for it in query(facts)} if found else ()
    kept = {it.new for it in unthreaded(facts)} if found else set[str]()
    kept |= {it.unread for it in doubled(facts)} if found else set[str]()
    for it in found:
        if it.place in told or it.name in kept:
            continue
        how = "only its own next value reads it" if it.is_total else "nothing reads it"
        yield RULE.finding(
            it.place,
            current=f"`{it.name}` is computed here, and {how}",
            expected=f"`{it.name}` takes part in what follows",
            fix=f"look where `{it.name}` was to be used, or remove its computation",
            engine=Engine.SOURCE,
        )
    for it in unread_containers(facts):
        yield RULE.finding(
            it.place,
            current=f"`{it.name}` is filled here, and nothing reads it",
            expected=f"`{it.name}` is handed on",
            fix=f"look where `{it.name}` was to be used, or do not fill it",
            engine=Engine.SOURCE,
        )


RULE = Rule(
    code="DF122",
    name="value-unread",
    title="A value is computed, and nothing reads it",
    family="dataflow",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
What JAX computes has no effect but its result. A name that gets one and that nothing reads stands
for a step which its author wrote and which does not happen: another variable is used in its place,
or a term is missing. The same holds for a total that is added up and never asked for.

A name that begins with an underscore says that the value is not needed.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(params, parts):
    total = jnp.zeros_like(params)
    for i in range(3):
        grads = jax.grad(lambda p: jnp.mean((parts[i] @ p) ** 2))(params)
        total = total + grads
    return params - 0.1 * grads / 3

def inputs():
    return jnp.ones(2), jnp.ones((3, 4, 2))
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(params, parts):
    total = jnp.zeros_like(params)
    for i in range(3):
        grads = jax.grad(lambda p: jnp.mean((parts[i] @ p) ** 2))(params)
        total = total + grads
    return params - 0.1 * total / 3

def inputs():
    return jnp.ones(2), jnp.ones((3, 4, 2))
""",
    warns=True,
    source=check_source,
)
