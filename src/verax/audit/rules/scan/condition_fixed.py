"""A while loop whose condition does not look at what the loop changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Conditions that are made of nothing that the carry holds."""
    from ...source.events import Loop
    from ...source.queries.loops import behind
    from ...source.values import Data, nodes_of

    for loop in facts.events(Loop):
        test = loop.options.get("condition")
        if loop.kind != "while_loop" or not isinstance(test, Data) or loop.carry_in is None:
            continue
        carried, sources = set(nodes_of(loop.carry_in)), behind(test)
        if not carried or not carried.isdisjoint(sources):
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


RULE = Rule(
    code="SC007",
    name="condition-fixed",
    title="Condition of a while loop ignores the carry",
    family="scan",
    severity=Severity.CRITICAL,
    explanation="""\
The condition of `jax.lax.while_loop` gets the carry, which is all that changes from one iteration
to the next. A condition that reads the first value instead, by closure, is the same each time.
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
