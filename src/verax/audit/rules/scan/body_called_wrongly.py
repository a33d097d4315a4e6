"""A loop whose body does not take what the loop gives it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Loop
    from ...source.facts import SourceFacts

# How many arguments a loop gives to its body, and what they are.
_GIVEN = {
    "scan": (2, "the carry and a slice of the inputs"),
    "fori_loop": (2, "the counter and the carry, in this order"),
    "while_loop": (1, "the carry"),
    "map": (1, "a slice of the input"),
}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report bodies with another number of parameters, or with the counter in the wrong place."""
    from ...source.events import Loop
    from ...source.queries.signatures import cannot_take

    for loop in facts.events(Loop):
        count, what = _GIVEN.get(loop.kind, (0, ""))
        reason = cannot_take(loop.body, count) if count else None
        if reason is not None:
            yield RULE.finding(
                loop.place,
                current=f"{loop.kind} gives its body {what}; the body {reason}",
                expected=f"a body that takes {what}",
                fix="bind everything else beforehand, by closure or with `functools.partial`",
                engine=Engine.SOURCE,
            )
        elif loop.kind == "fori_loop":
            yield from _swapped(facts, loop)
        yield from _taken_apart(facts, loop)
    yield from _branches(facts)


def _taken_apart(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    """Bodies that expect another number of parts than there are."""
    from ...source.events import Fact
    from ...source.values import Sequence

    given = [it for it in (loop.carry_in, loop.slices) if isinstance(it, Sequence)]
    for fact in facts.events(Fact) if given else ():
        if fact.kind == "unpacked wrongly" and any(fact.data["value"] is it for it in given):
            what = "the carry" if fact.data["value"] is loop.carry_in else "what is scanned"
            yield RULE.finding(
                fact.place,
                current=f"{what} has {fact.data['value'].length} parts, and the body of the "
                f"{loop.kind} takes it apart into {fact.data['targets']}",
                expected="a body that takes what the loop gives it",
                fix="take as many parts as are given, or give the loop the one that is missing",
                evidence=(Evidence("the loop is here", loop.place),),
                engine=Engine.SOURCE,
            )


def _branches(facts: SourceFacts) -> Iterator[Finding]:
    """Branches of conditionals that do not take the operands."""
    from ...source.events import Fact
    from ...source.queries.signatures import cannot_take

    for fact in facts.events(Fact):
        if fact.kind not in ("cond", "switch") or fact.data["given"] is None:
            continue
        for branch, count in zip(fact.data["branches"], fact.data["given"], strict=True):
            reason = cannot_take(branch, count)
            if reason is not None:
                what = f"{count} operand{'' if count == 1 else 's'}"
                yield RULE.finding(
                    fact.place,
                    current=f"{fact.kind} gives each branch {what}; one of them {reason}",
                    expected=f"branches that take {what}",
                    fix="give all branches the same parameters, also those that need fewer",
                    engine=Engine.SOURCE,
                )
                break


def _swapped(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    """Bodies that take the counter apart, as if it were the carry."""
    from ...source.events import Fact
    from ...source.values import Data

    counter = loop.slices
    assert isinstance(counter, Data)
    for fact in facts.events(Fact):
        if fact.kind == "unpacked" and fact.data["value"].node is counter.node:
            yield RULE.finding(
                fact.place,
                current="the body takes its first argument apart, which is the counter of the "
                "fori_loop, an integer",
                expected="a body that takes the counter and the carry, in this order",
                fix="swap the two parameters of the body",
                evidence=(Evidence("the loop is here", loop.place),),
                engine=Engine.SOURCE,
            )


RULE = Rule(
    code="SC203",
    name="body-called-wrongly",
    title="The body of a loop does not take what it is given",
    family="scan",
    severity=Severity.ERROR,
    explanation="""\
`scan` calls its body with the carry and a slice, `fori_loop` with the counter and the carry,
`while_loop` with the carry alone. A body that takes other arguments, or the same in another order,
raises an error from deep inside of JAX.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(x):
    def body(carry, i):
        x, total = carry
        return x * 0.5, total + x

    return jax.lax.fori_loop(0, 5, body, (x, jnp.zeros(3)))

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(x):
    def body(i, carry):
        x, total = carry
        return x * 0.5, total + x

    return jax.lax.fori_loop(0, 5, body, (x, jnp.zeros(3)))

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
