"""A loop whose body does not take what the loop gives it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Evidence, Finding, Severity
from ...source.classes import innermost_function
from ...source.edits import swapped
from ...source.events import Call, Fact, Loop
from ...source.graph import Node
from ...source.library.options import free_names
from ...source.parameters import positional
from ...source.queries.signatures import cannot_take
from ...source.remember import remembered
from ...source.values import Data, Function, Sequence, Transformed, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts

# How many arguments a loop gives to its body, and what they are.
_GIVEN = {
    "scan": (2, "the carry and a slice of the inputs"),
    "fori_loop": (2, "the counter and the carry, in this order"),
    "while_loop": (1, "the carry"),
    "map": (1, "a slice of the input"),
}

_COUNTERS = frozenset("i j k t n idx index it iteration step turn".split())


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Report bodies with another number of parameters, or with the counter in the wrong place."""
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
    parts = (("the carry", loop.carry_in), ("a slice", loop.slices), ("the result", loop.outside))
    given = {id(it): what for what, it in parts if isinstance(it, Sequence)}
    for fact in _unpacked_wrongly(facts) if given else ():
        what = given.get(id(fact.data.get("value")))
        if what is not None:
            yield RULE.finding(
                fact.place,
                current=f"{what} of the {loop.kind} has {fact.data['value'].length} parts, and is "
                f"taken apart into {fact.data['targets']}",
                expected="as many names as there are parts",
                fix="take as many parts as are given, or give the loop the one that is missing",
                evidence=(Evidence("the loop is here", loop.place),),
                engine=Engine.SOURCE,
            )


@remembered
def _unpacked_wrongly(facts: SourceFacts) -> list[Fact]:
    return [it for it in facts.events(Fact) if it.kind == "unpacked wrongly"]


def _branches(facts: SourceFacts) -> Iterator[Finding]:
    """Branches of conditionals that do not take the operands."""
    for fact in facts.events(Fact):
        if fact.kind not in ("cond", "switch") or fact.data["given"] is None:
            continue
        given = list(zip(fact.data["branches"], fact.data["given"], strict=True))
        reasons = [cannot_take(branch, count) for branch, count in given]
        is_odd = reasons.count(None) > len(reasons) / 2
        for (branch, count), reason in zip(given, reasons, strict=True):
            if reason is not None:
                what = f"{count} operand{'' if count == 1 else 's'}"
                own = innermost_function(branch) if is_odd else None
                is_here = own is not None and own.frame.module is fact.frame.module
                yield RULE.finding(
                    # If most take them, this one is wrong; else that may be the call.
                    own.frame.place(own.syntax) if own is not None and is_here else fact.place,
                    current=f"{fact.kind} gives each branch {what}; one of them {reason}",
                    expected=f"branches that take {what}",
                    fix="give all branches the same parameters, also those that need fewer",
                    evidence=(Evidence(f"the {fact.kind} is here", fact.place),),
                    engine=Engine.SOURCE,
                )
                break


def _swapped(facts: SourceFacts, loop: Loop) -> Iterator[Finding]:
    """Bodies that take the counter apart, as if it were the carry."""
    counter = loop.slices
    assert isinstance(counter, Data)
    node = counter.node
    unpacked = [it.place for it in _unpacked(facts).get(node, ())]
    parts = [it.place for it in (node.children or {}).values() if it.operation in ("item", "field")]
    updated = [it.place for it in _updated(facts).get(node, ())]
    body = innermost_function(loop.body)
    places = [it for it in (*unpacked, *parts, *updated) if it is not None]
    if not places and body is not None and _is_named_as_swapped(loop, body):
        yield RULE.finding(
            body.frame.place(body.syntax),
            current="the parameters of the body are named as if the carry came first; it gets the "
            "counter of the fori_loop there, an integer",
            expected="a body that takes the counter and the carry, in this order",
            fix="swap the two parameters of the body",
            evidence=(Evidence("the loop is here", loop.place),),
            engine=Engine.SOURCE,
            edit=_parameters_swapped(body),
        )
    for place in places[:1]:
        yield RULE.finding(
            # The parameters are what is wrong, however far below that shows.
            place if body is None else body.frame.place(body.syntax),
            current="the body takes its first argument apart, which is the counter of the "
            "fori_loop, an integer",
            expected="a body that takes the counter and the carry, in this order",
            fix="swap the two parameters of the body",
            evidence=(
                Evidence("here it is taken apart", place),
                Evidence("the loop is here", loop.place),
            ),
            engine=Engine.SOURCE,
            edit=_parameters_swapped(body),
        )


def _parameters_swapped(body: Function | None) -> Edit | None:
    taken = positional(body.syntax) if body is not None else []
    if body is None or len(taken) != 2:
        return None
    return swapped(body.frame, taken[0], taken[1])


def _is_named_as_swapped(loop: Loop, body: Function) -> bool:
    """Whether the second parameter has the name of a counter, and the first one the carry's.

    An array is no counter either, whatever the carry is called outside.
    """
    call = loop.syntax
    given = call.args[3:4] if isinstance(call, ast.Call) else []
    names = free_names(Transformed("", loop.body, {}, call, body.frame))[:2]
    if len(names) != 2 or names[1] not in _COUNTERS or names[0] in _COUNTERS:
        return False
    is_array = isinstance(loop.carry_in, Data) and bool(loop.carry_in.node.shape)
    is_same = bool(given) and isinstance(given[0], ast.Name) and given[0].id == names[0]
    return is_same or (is_array and not names[0].startswith(("_", "unused")))


@remembered
def _unpacked(facts: SourceFacts) -> dict[Node, list[Fact]]:
    """Where data is taken apart, by what it is."""
    found: dict[Node, list[Fact]] = {}
    for fact in facts.events(Fact):
        if fact.kind == "unpacked":
            found.setdefault(fact.data["value"].node, []).append(fact)
    return found


@remembered
def _updated(facts: SourceFacts) -> dict[Node, list[Call]]:
    """Where data is updated in parts, by what it is: the first argument, with the index."""
    found: dict[Node, list[Call]] = {}
    for call in facts.calls(it for it in facts.calls_by_name if it.startswith("ndarray.at[")):
        for node in nodes_of(call.args[0])[:1] if call.args else ():
            found.setdefault(node, []).append(call)
    return found


RULE = Rule(
    code="SC203",
    name="body-called-wrongly",
    title="The body of a loop does not take what it is given",
    family="scan",
    severity=Severity.ERROR,
    explanation="""\
`scan` calls its body with the carry and a slice, `fori_loop` with the counter and the carry,
`while_loop` with the carry alone. A body that takes other arguments, or the same in another order,
raises an error from deep inside of JAX, or computes with the counter in place of the carry.
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
