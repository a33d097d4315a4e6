"""An associative scan with a function that is not associative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Fact
from ...source.queries.loops.associativity import is_not_associative
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Functions whose result differs when three values are combined in another order."""
    for fact in facts.events(Fact):
        if fact.kind != "associative scan":
            continue
        if is_not_associative(fact.data["one"], fact.data["other"], fact.data["result"]):
            yield RULE.finding(
                fact.place,
                current="the function is not associative: with numbers, f(f(x, y), z) and "
                "f(x, f(y, z)) differ",
                expected="`associative_scan` combines neighbours in any order, as a tree",
                fix="Scan over the functions themselves, as coefficients that compose (the factor "
                "and the offset of each linear step), or use `jax.lax.scan`.",
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="SC006",
    name="order-matters",
    title="Associative scan with a function that is not associative",
    family="scan",
    severity=Severity.CRITICAL,
    explanation="""\
`jax.lax.associative_scan` combines neighbours first, and then what came of them. It gives what a
loop gives only if the function is associative. A decaying sum, `decay * total + x`, is not: the
sums of later neighbours are decayed once, however many steps they span.
""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(x):
    return jax.lax.associative_scan(lambda total, new: 0.9 * total + new, x)


def inputs():
    return (jnp.ones(8),)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(x):
    def compose(first, second):
        return second[0] * first[0], second[0] * first[1] + second[1]

    return jax.lax.associative_scan(compose, (jnp.full(8, 0.9), x))[1]


def inputs():
    return (jnp.ones(8),)
""",
    source=check_source,
)
