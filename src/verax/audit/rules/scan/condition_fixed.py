"""A while loop whose condition does not look at what the loop changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Loop
from ...source.graph import sources as all_sources
from ...source.operations import COMPARISONS
from ...source.queries.loops.bodies import behind, paired_leaves, pairs, returned_at
from ...source.values import Data, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Conditions that are made of nothing that the carry holds."""
    for loop in facts.events(Loop):
        test = loop.options.get("condition")
        if loop.kind != "while_loop" or not isinstance(test, Data) or loop.carry_in is None:
            continue
        carried, sources = set(nodes_of(loop.carry_in)), behind(test)
        if not carried or not carried.isdisjoint(sources):
            yield from _fixed_terms(facts, loop, carried, sources)
            continue
        # Whatever asks the world outside may get another answer each time.
        if any(loop.region in it.varies or "callback" in it.operation for it in sources):
            continue
        own = test.node.place if test.node.is_made_in(loop.region) else None
        yield RULE.finding(
            own or loop.place,
            current=f"the condition of the while_loop, `{facts.name_of(test)}`, does not depend on "
            "the carry: the loop never begins, or never ends",
            expected="a condition that reads its own parameter, the carry",
            fix="use the parameter of the condition instead of a variable of the function around",
            evidence=(Evidence("the loop is here", loop.place),),
            engine=Engine.SOURCE,
        )


def _fixed_terms(
    facts: SourceFacts, loop: Loop, carried: set[Node], sources: set[Node]
) -> Iterator[Finding]:
    """Comparisons in a condition that read only parts of the carry which the body hands back."""
    parts = list(pairs(loop.carry_in, loop.carry_out))
    if not all(isinstance(it, Data) for it, _ in parts):
        return  # The condition may read what is not known here.
    leaves = paired_leaves(loop.carry_in, loop.carry_out)
    same = {before.node for before, after in leaves if before.node is after.node}
    if not (carried & sources) - same:
        return  # Nothing that it reads changes, which is told as such.
    terms = [it for it in sources if it.operation in COMPARISONS] if same else []
    for term in terms:
        # Sizes never change, and are compared while the loop is traced.
        read = carried & all_sources([term], lambda it: it.operation != "static")
        if not read or not read <= same or term.place is None:
            continue
        if any(it is not term and it.depends_on(term) for it in terms):
            continue  # What it counts is compared with something else, which may change.
        yield RULE.finding(
            returned_at(facts, loop) or loop.place,
            current=f"the condition of the while_loop asks for `{facts.name_of(Data(term))}`, and "
            "the body hands that part of the carry back as it came: the answer never changes",
            expected="what a condition compares is moved on by the body",
            fix="return the new value of that part from the body",
            evidence=(Evidence("the condition", term.place), Evidence("the loop", loop.place)),
            engine=Engine.SOURCE,
        )
        return


RULE = Rule(
    code="SC007",
    name="condition-fixed",
    title="Condition of a while loop ignores the carry",
    family="scan",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
The condition of `jax.lax.while_loop` gets the carry, which is all that changes from one iteration
to the next. A condition that reads the first value instead, by closure, is the same each time, and
so is a comparison with a counter that the body forgets to move on.
""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(x):
    def more(value):
        return jnp.max(x) > 1.0

    return jax.lax.while_loop(more, lambda value: 0.5 * value, x)


def inputs():
    return (jnp.zeros(3),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(x):
    def more(value):
        return jnp.max(value) > 0.1 * jnp.max(x)

    return jax.lax.while_loop(more, lambda value: 0.5 * value, x)


def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
