"""Calls of jitted functions that are compiled in every turn of a loop."""

from __future__ import annotations

import ast

from ..classes import innermost_function
from ..events import Applied, Call, Fact, Mutation
from ..facts import SourceFacts
from ..graph import Node
from ..values import Constant, Data, Partial, Sequence, leaves
from .arguments import ordinary_arguments, static_arguments
from .repetition import counts, has_many_turns, is_made_inside, loops_around, loops_of
from .syntax import body_of

_JOINS = frozenset(
    f"{module}.{name}"
    for module in ("jax.numpy", "numpy")
    for name in ("stack", "concatenate", "asarray", "vstack", "hstack", "append")
)


def growing_arrays(facts: SourceFacts) -> dict[Node, str]:
    """Arrays that have another shape in each turn of a loop, and what they are."""
    found: dict[Node, str] = {}
    for fact in facts.events(Fact):
        if fact.kind == "slice" and _grows(fact):
            found[fact.data["result"].node] = f"`{fact.text}`"
    lists = _growing_lists(facts)
    for call in facts.events(Call):
        if call.name in _JOINS and call.args and isinstance(call.result, Data):
            first = call.args[0]
            loops = lists.get(first.syntax) if isinstance(first, Sequence) else None
            inside = loops and loops.intersection(loops_around(call.frame, call.syntax))
            if inside:
                found[call.result.node] = f"`{call.text}`"
    return found


def _grows(fact: Fact) -> bool:
    """Whether one end of a slice moves with a loop, and the other stays."""
    start, end = (loops(bound) for bound in fact.data["bounds"][:2])
    return bool(start ^ end)


def loops(bound: object) -> frozenset[object]:
    """The loops of Python's with which a bound moves."""
    return frozenset(loops_of(bound.node)) if isinstance(bound, Data) else frozenset()


def _growing_lists(facts: SourceFacts) -> dict[ast.AST | None, set[ast.AST]]:
    """Lists, by the syntax that makes them, with the loops in which they only grow."""
    found: dict[ast.AST | None, set[ast.AST]] = {}
    shrinking: set[ast.AST | None] = set()
    for change in facts.events(Mutation):
        target = change.target
        if not isinstance(target, Sequence) or target.syntax is None:
            continue
        if change.how in ("append", "extend"):
            for loop in loops_around(change.frame, change.syntax):
                if all(node is not target.syntax for node in ast.walk(loop)):
                    found.setdefault(target.syntax, set()).add(loop)
        else:
            shrinking.add(target.syntax)
    return {syntax: around for syntax, around in found.items() if syntax not in shrinking}


def another_shape(applied: Applied, growing: dict[Node, str]) -> str | None:
    """An argument whose shape is another one in each turn."""
    for _, value in ordinary_arguments(applied):
        for leaf in leaves(value):
            what = growing.get(leaf.node)
            if what is None:
                continue
            if all(map(has_many_turns, loops_of(leaf.node))):
                return what
    return None


def another_static(applied: Applied) -> str:
    """A static argument that is another number in each turn."""
    for name, value in static_arguments(applied):
        if not isinstance(value, Data) or value.traced or not counts(value.node):
            continue
        around = [it for it in loops_of(value.node) if not is_made_inside(applied.transformed, it)]
        if any(map(has_many_turns, around)):
            return name
    return ""


def another_function(facts: SourceFacts, applied: Applied) -> bool:
    """Whether the function under the transformation is made anew in each turn."""
    transformed = applied.transformed
    around = [it for it in applied.region.chain() if it.kind == "loop"]
    inside = [it for it in around if is_made_inside(transformed, it) and has_many_turns(it)]
    function = innermost_function(transformed.function)
    if not inside or function is None:
        return False
    for loop in inside:
        syntax: ast.AST = loop.details["syntax"]
        is_written_inside = any(node is function.syntax for node in ast.walk(syntax))
        of_call = function.frame.region
        is_fresh = (
            is_written_inside
            or isinstance(transformed.function, Partial)
            or (of_call is not None and loop in of_call.chain())
        )
        if is_fresh and _is_near(applied, syntax) and not _depends_on(facts, applied, loop):
            return True
    return False


def _is_near(applied: Applied, loop: ast.AST) -> bool:
    """Whether the loop is in the function that makes the call, or in its caller.

    On longer ways it depends on too much whether a program takes them.
    """
    near = list(applied.frame.callers())[:2]
    return any(node is loop for frame in near for node in ast.walk(body_of(frame)))


def _depends_on(facts: SourceFacts, applied: Applied, loop: object) -> bool:
    """Whether a function needs to be another one in each turn, for what it closes over."""
    function = applied.transformed.function
    given = [*function.args, *function.keywords.values()] if isinstance(function, Partial) else []
    for fact in facts.events(Fact):
        if fact.kind == "captured" and fact.data["transformed"] is applied.transformed:
            given += [capture.value for capture in fact.data["captures"]]
    for value in given:
        if isinstance(value, Constant):
            continue
        for leaf in leaves(value):
            if loop in leaf.node.varies and not counts(leaf.node):
                return True
    return False
