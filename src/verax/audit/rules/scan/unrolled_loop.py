"""Python loops over time inside of a jitted function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...finding import Confidence, Engine, Evidence, Severity
from ...source.events import Fact, Mutation
from ...source.queries.arrays import shape_in_words
from ...source.queries.loops.bodies import behind
from ...source.queries.loops.counted_whiles import turns_of_while
from ...source.remember import walked
from ...source.shapes import Size
from ...source.shaping import length_of
from ...source.text import text_of
from ...source.values import Constant, Data, Sequence, leaves
from ...words import is_sequence
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...source.values import Value
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Loops that were unrolled into a chain."""
    from ...trace.phrases import phrase
    from ...trace.unrolled import unrolled_loops

    for loop in unrolled_loops(facts):
        over, fix = "", "use `jax.lax.fori_loop`"
        if loop.array is not None:
            name = phrase(facts, loop.array)
            over, fix = f" over {name}", f"use `jax.lax.scan` over {name}"
        yield RULE.finding(
            loop.place,
            current=f"the loop{over} is unrolled into {loop.turns} copies of its body "
            f"({loop.steps} operations), which all have to be compiled",
            expected="one copy of the body, however many turns there are",
            fix=f"{fix}, with what one iteration passes to the next as the carry",
            evidence=(
                Evidence(f"{loop.chained} turns in a row work on the result of the one before"),
            ),
        )


# Shorter loops are often over layers or components, and cost little.
_SHORTEST = 16
# Loops in loops have more turns together, each of them a copy.
_TOGETHER = 64


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Loops of Python's in traced code that hand something on from turn to turn."""
    for fact in facts.events(Fact):
        region: Region | None = fact.data.get("region", fact.frame.region)
        if fact.kind not in ("loop", "folded") or region is None or not region.is_staged:
            continue
        turns = _turns(fact)
        carried = [name for name, (old, new) in fact.data["carried"].items() if _chains(old, new)]
        if turns is not None and not carried:
            carried = _lists(facts, fact) or _stores(facts, fact)
        if turns is None or not carried:
            continue
        yield RULE.finding(
            fact.place,
            current=f"the loop is unrolled into {turns} copies of its body, which all have to be "
            "compiled",
            expected="one copy of the body, however many turns there are",
            fix="use `jax.lax.scan` or `jax.lax.fori_loop`, with what one iteration passes to the "
            "next as the carry",
            evidence=(Evidence(f"`{carried[0]}` goes from each turn to the next"),),
            engine=Engine.SOURCE,
            confidence=Confidence.CERTAIN if turns.isdigit() else Confidence.LIKELY,
        )


def _turns(fact: Fact) -> str | None:
    """How many turns a loop over numbers or over an array has, if they are many."""
    counted = turns_of_while(fact)
    if counted is not None:
        return str(counted) if counted >= _SHORTEST else None
    iterated: Value | None = fact.data["iterated"]
    cut = _number_of_parts(iterated)
    is_range = isinstance(iterated, Sequence) and iterated.kind == "range"
    if iterated is None or not (is_range or cut is not None or _goes_through_arrays(iterated)):
        return None
    length = length_of(iterated) if cut is None else cut
    if isinstance(length, int):
        together = length * _turns_around(fact)
        is_long = length >= _SHORTEST or together >= _TOGETHER
        return str(together if length < _SHORTEST else length) if is_long else None
    # Of an unknown size, only the name of the counter tells that it is a long one.
    target = getattr(fact.syntax, "target", None)
    if isinstance(length, Size) and isinstance(target, ast.Name) and is_sequence(target.id):
        return shape_in_words((length,)).strip("(),")
    return None


def _turns_around(fact: Fact) -> int:
    """How many turns the loops around a loop have together, as far as that is known."""
    region: Region | None = fact.data["region"].outer if "region" in fact.data else None
    turns = 1
    while region is not None and region.kind == "loop":
        iterated = region.details.get("iterated")
        length = length_of(iterated) if isinstance(iterated, (Sequence, Data)) else None
        turns *= length if isinstance(length, int) else 1
        region = region.outer
    return turns


def _number_of_parts(iterated: Value | None) -> Any:
    """In how many parts an array is cut that a loop goes through: `jnp.unstack(xs)`."""
    node = iterated.node if isinstance(iterated, Data) and iterated.traced else None
    array = node.operands[0] if node is not None and node.operands else None
    if node is None or not isinstance(array, Data):
        return None
    shape = array.node.shape
    if node.operation == "jax.numpy.unstack" and len(node.operands) == 1:
        is_first = not getattr(node.syntax, "keywords", None)
        return shape[0] if is_first and isinstance(shape, tuple) and shape else None
    given = node.operands[1] if len(node.operands) > 1 else None
    is_cut = node.operation in ("jax.numpy.split", "jax.numpy.array_split")
    return given.value if is_cut and isinstance(given, Constant) else None


def _stores(facts: SourceFacts, fact: Fact) -> list[str]:
    """Keys and attributes that each turn gives what it makes from what they held before."""
    inside = set(walked(fact.syntax)) if isinstance(fact.syntax, (ast.For, ast.While)) else set()
    return [
        text_of(change.syntax)
        for change in (facts.events(Mutation) if inside else ())
        if change.frame is fact.frame
        and change.how in ("item", "attribute")
        and change.syntax in inside
        and change.before is not None
        and change.value is not None
        and _chains(change.before, change.value)
    ]


def _lists(facts: SourceFacts, fact: Fact) -> list[str]:
    """Lists to which each turn adds what it makes from what the turn before has added."""
    inside = list(walked(fact.syntax)) if isinstance(fact.syntax, ast.For) else []
    read = {
        text_of(it.value)
        for it in inside
        if isinstance(it, ast.Subscript)
        and isinstance(it.ctx, ast.Load)
        and text_of(it.slice) == "-1"
    }
    found: list[str] = []
    for change in facts.events(Mutation) if read else ():
        call = change.syntax
        if change.frame is not fact.frame or change.how != "append" or call not in inside:
            continue
        function = call.func if isinstance(call, ast.Call) else None
        name = text_of(function.value) if isinstance(function, ast.Attribute) else ""
        is_traced = change.value is not None and any(it.traced for it in leaves(change.value))
        if name in read and is_traced:
            found.append(name)
    return found


def _goes_through_arrays(iterated: Value) -> bool:
    """Whether a loop goes through the rows of tracers, with `zip`, `enumerate` and so on or not.

    An array of Python's is gone through as well, if a tracer comes along.
    """
    if isinstance(iterated, Data):
        return iterated.traced is not None and iterated.is_array
    if not isinstance(iterated, Sequence) or iterated.items is not None or not iterated.element:
        return False
    rows = [it for it in leaves(iterated.element) if it.node.operation != "counter"]
    return any(map(_is_row, rows)) and all(_is_row(it) or it.traced is False for it in rows)


def _is_row(value: Data) -> bool:
    """Whether something is one of the rows of a tracer, as a loop comes by them."""
    return bool(value.traced) and value.is_array and value.node.operation == "element"


def _chains(old: Value, new: Value) -> bool:
    """Whether what a turn leaves is computed from what it found."""
    found = {leaf.node for leaf in leaves(old)}
    return any(
        leaf.traced and leaf.node not in found and not found.isdisjoint(behind(leaf))
        for leaf in leaves(new)
    )


RULE = Rule(
    code="SC302",
    name="unrolled-loop",
    title="A Python loop is unrolled where a scan would do",
    family="scan",
    severity=Severity.MINOR,
    explanation="""\
A Python loop inside of a jitted function runs while tracing, and leaves a copy of its body for each
turn. Compile time grows with the length of the sequence (often faster), and so does the program; a
new length compiles again. `jax.lax.scan` has one copy.

Reported for loops of 16 turns and more, or of 64 together with the loops around them, that carry
something from turn to turn, and take successive slices of one array or nothing but that carry.
Loops over layers with parameters of their own are not reported.""",
    wrong="""\
import jax
import jax.numpy as jnp


@jax.jit
def entry(start, forces):
    speed = start
    for t in range(forces.shape[0]):
        speed = 0.9 * speed + forces[t]
    return speed


def inputs():
    return jnp.zeros(3), jnp.ones((32, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


@jax.jit
def entry(start, forces):
    def push(speed, force):
        return 0.9 * speed + force, None

    speed, _ = jax.lax.scan(push, start, forces)
    return speed


def inputs():
    return jnp.zeros(3), jnp.ones((32, 3))
""",
    trace=check,
    source=check_source,
)
