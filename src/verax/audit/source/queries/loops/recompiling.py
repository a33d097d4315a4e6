"""Calls of jitted functions that are compiled in every turn of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from ....finding import Place
from ...classes import innermost_function, is_static_field
from ...events import Applied, Fact
from ...facts import SourceFacts
from ...frame import Region
from ...graph import Node
from ...operations import ARITHMETIC
from ...remember import walked
from ...values import (
    Bound,
    Constant,
    Data,
    Function,
    Instance,
    Partial,
    Transformed,
    Value,
    leaves,
)
from ..arguments import ordinary_arguments, static_arguments
from ..origins import assignment
from ..structures.registration import is_certain_array
from ..syntax import body_of
from .distinct import is_another_each_turn
from .growing import Growing, key_read
from .repetition import (
    counts,
    has_many_turns,
    is_made_inside,
    loops_of,
    surrounds,
)

_BLOCKS = (ast.If, ast.Try, ast.With)
_ARITHMETIC = ARITHMETIC | {"turn"}
_ARITHMETIC_DEPTH = 6


def another_shape(applied: Applied, growing: Growing) -> str | None:
    """An argument whose shape is another one in each turn."""
    around = [it for it in applied.region.chain() if it.kind == "loop"]
    read = _keys_read(applied) if growing.kept else ()
    for _, value in ordinary_arguments(applied):
        for grown in growing.parts(value, read):
            inside = [it for it in around if it.details.get("syntax") in grown.loops]
            if any(map(has_many_turns, inside)) and not _is_shared(applied, inside):
                return grown.text
    return None


def _keys_read(applied: Applied) -> list[object]:
    """The attributes and constant keys that the arguments of a call are."""
    call = applied.syntax
    if not isinstance(call, ast.Call):
        return []
    written = [*call.args, *(it.value for it in call.keywords)]
    for at, name in enumerate(written):
        named = assignment(applied.frame, name.id) if isinstance(name, ast.Name) else None
        if isinstance(named, ast.Assign):
            written[at] = named.value
    return [key for it in written if (key := key_read(it)) is not None]


def _is_shared(applied: Applied, loops: list[Region]) -> bool:
    """Whether a loop further inside calls the function many times before these go on."""
    within = takewhile(lambda it: it not in loops, applied.region.chain())
    return any(it.kind == "loop" and has_many_turns(it) for it in within)


def another_static(facts: SourceFacts, applied: Applied) -> str:
    """A static argument that is another number in each turn."""
    for name, value in (*static_arguments(applied), *_plain_numbers(applied)):
        if not isinstance(value, Data) or value.traced:
            continue
        around = [loop for loop in loops_of(value.node) if surrounds(loop, applied)]
        outside = [loop for loop in around if not is_made_inside(applied.transformed, loop)]
        many = filter(has_many_turns, outside)
        if any(is_another_each_turn(facts, value.node, loop) for loop in many):
            return name
    return ""


def _plain_numbers(applied: Applied) -> Iterator[tuple[str, Value]]:
    """Arguments of `equinox.filter_jit` that are numbers of Python's, which it takes as static.

    What modules hold is not among them: a turn makes another module, but perhaps of the same
    numbers (see `another_field`).
    """
    if applied.transformed.is_filtered and applied.transformed.kind == "jit":
        for name, value in ordinary_arguments(applied):
            if isinstance(value, Data) and _is_plain_number(value.node):
                yield name, value


def _is_plain_number(node: Node, depth: int = 0) -> bool:
    """Whether a value is a number of Python's that goes from turn to turn, and no array."""
    if node.operation == "counter" or (node.operation == "turn" and not node.inputs):
        return True
    keeps = node.operation in _ARITHMETIC and depth < _ARITHMETIC_DEPTH
    return (
        keeps and bool(node.inputs) and all(_is_plain_number(it, depth + 1) for it in node.inputs)
    )


def another_field(facts: SourceFacts, applied: Applied) -> tuple[str, Place] | None:
    """A number of Python's that each turn leaves another one in a module that it goes on with.

    Its place is where the module gets its first number.
    """
    if not applied.transformed.is_filtered or applied.transformed.kind != "jit":
        return None
    around = {it for it in applied.region.chain() if it.kind == "loop" and has_many_turns(it)}
    given = [value for _, value in ordinary_arguments(applied) if isinstance(value, Instance)]
    for loop in facts.events(Fact) if around and given else ():
        if loop.kind != "loop" or loop.data["region"] not in around:
            continue
        for name, (entered, _) in loop.data["carried"].items():
            for left in loop.data["left"][name] if entered in given else ():
                for field, first in _changed_numbers(entered, left):
                    frame, written = first.origin or (applied.frame, applied.syntax)
                    return f"{name}.{field}", frame.place(written)
    return None


def _changed_numbers(before: Value, after: Value) -> Iterator[tuple[str, Constant]]:
    """The fields of an object that hold one number before a turn and another one after it."""
    if not isinstance(before, Instance) or not isinstance(after, Instance):
        return
    for field, value in before.attributes.items():
        other = after.attributes.get(field)
        if not isinstance(value, Constant) or not isinstance(other, Constant):
            continue
        are_numbers = all(type(it.value) in (int, float) for it in (value, other))
        if are_numbers and value.value != other.value and not is_static_field(before.cls, field):
            yield field, value


def another_function(facts: SourceFacts, applied: Applied) -> Place | None:
    """Where a loop makes the function under the transformation anew in each turn."""
    transformed = applied.transformed
    around = [it for it in applied.region.chain() if it.kind == "loop"]
    inside = [it for it in around if is_made_inside(transformed, it) and has_many_turns(it)]
    inside = [it for it in inside if not _is_left_after(it.details["syntax"], applied.syntax)]
    function = innermost_function(transformed.function)
    if not inside or function is None:
        return None
    inside = [it for it in inside if not _is_a_run_of_its_own(facts, applied, it)]
    for loop in inside:
        syntax: ast.AST = loop.details["syntax"]
        is_written_inside = any(node is function.syntax for node in walked(syntax))
        of_call = function.frame.region
        is_fresh = (
            is_written_inside
            or _is_new(transformed.function, loop)
            or (of_call is not None and loop in of_call.chain())
        )
        if is_fresh and _is_near(applied, syntax) and not _depends_on(facts, applied, loop):
            return _made_at(applied)
    return None


def _is_left_after(loop: ast.AST, call: ast.AST) -> bool:
    """Whether a loop tries something until it succeeds: after the call, it is left."""
    owner: ast.AST | None = loop
    while owner is not None:
        block: list[ast.stmt] = getattr(owner, "body", None) or []
        around = [it for it in block if any(node is call for node in walked(it))]
        if around and isinstance(block[-1], (ast.Break, ast.Return)):
            return True
        owner = around[0] if around and isinstance(around[0], _BLOCKS) else None
    return False


def _is_a_run_of_its_own(facts: SourceFacts, applied: Applied, loop: Region) -> bool:
    """Whether each turn calls a function that makes the other one for a loop inside of it."""
    parts = set(map(id, walked(body_of(applied.transformed.frame))))
    if id(loop.details["syntax"]) in parts:
        return False
    calls = [it for it in facts.events(Applied) if it.transformed is applied.transformed]
    own = [
        region.details["syntax"]
        for it in calls
        for region in takewhile(lambda outer: outer is not loop, it.region.chain())
        if region.kind == "loop" and has_many_turns(region)
    ]
    return any(id(it) in parts for it in own)


def _is_new(function: Value, loop: Region) -> bool:
    """Whether what is jitted is another object in each turn, be it of one and the same function.

    JAX knows a function again by its identity, which a partial, a method that is taken from its
    object, and the result of a transformation do not have.
    """
    if isinstance(function, Transformed):
        return is_made_inside(function, loop)
    return isinstance(function, (Partial, Bound))


def _made_at(applied: Applied) -> Place:
    """Where the function that also makes the call applies the transformation, or has it applied."""
    around = set(applied.frame.callers())
    syntax: ast.AST | None = applied.transformed.syntax
    for frame in applied.transformed.frame.callers():
        if frame in around and syntax is not None:
            return frame.place(syntax)
        syntax = frame.called_at
    return applied.place


def _is_near(applied: Applied, loop: ast.AST) -> bool:
    """Whether the loop is in the function that makes the call, or in its caller.

    On longer ways it depends on too much whether a program takes them.
    """
    near = list(applied.frame.callers())[:2]
    return any(node is loop for frame in near for node in walked(body_of(frame)))


def _depends_on(facts: SourceFacts, applied: Applied, loop: object) -> bool:
    """Whether a function needs to be another one in each turn, for what it closes over."""
    function = applied.transformed.function
    given = [*function.args, *function.keywords.values()] if isinstance(function, Partial) else []
    if isinstance(function, Function):
        # `lambda x, size=size: …` closes over what it has at that moment.
        given += [*function.defaults, *function.keyword_defaults.values()]
    for fact in facts.events(Fact):
        if fact.kind == "captured" and fact.data["transformed"] is applied.transformed:
            given += [capture.value for capture in fact.data["captures"]]
    for value in given:
        if isinstance(value, Constant):
            continue
        for leaf in leaves(value):
            # What is an array could be an argument as well.
            is_needed = not counts(leaf.node) and not is_certain_array(leaf)
            if loop in leaf.node.varies and is_needed:
                return True
    return False
