"""Loops of Python's around events: what is made, called or changed in each turn."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...events import Event
from ...frame import Frame, Region
from ...graph import Node
from ...remember import children, remembered, walked
from ...values import Sequence, Transformed
from ..syntax import body_of, holds

_Loop = ast.For | ast.While | ast.ListComp | ast.GeneratorExp

# A loop of fewer turns is not worth a word.
FEW = 4


def loops_around(frame: Frame, syntax: ast.AST) -> Iterator[ast.stmt | ast.expr]:
    """The loops and comprehensions of a frame's function around a piece of syntax."""
    if isinstance(syntax, (ast.expr, ast.stmt)):
        for loop in _loops(body_of(frame)):
            if loop is not syntax and holds(loop, syntax):
                yield loop


@remembered
def _loops(body: ast.AST) -> list[_Loop]:
    found: list[_Loop] = []
    pending = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, _Loop):
            found.append(node)
        pending.extend(children(node))
    return found


def in_one_loop(first: Event, second: Event) -> bool:
    """Whether two events of one frame are in the same loop."""
    if body_of(first.frame) is not body_of(second.frame):
        return False
    around = set(loops_around(first.frame, first.syntax))
    return any(loop in around for loop in loops_around(second.frame, second.syntax))


def common_loops(event: Event, frame: Frame, syntax: ast.AST) -> list[Region]:
    """The loops in whose turns an event and a piece of syntax are both reached, through calls."""
    ours, theirs = _loops_outside(event.frame), _loops_outside(frame)
    found = [it for it in ours if it in theirs]
    if event.frame is not frame:
        around = set(loops_around(frame, syntax))
        found += [it for it in ours if it.details.get("syntax") in around]
        around = set(loops_around(event.frame, event.syntax))
        found += [it for it in theirs if it.details.get("syntax") in around]
    return found


def _loops_outside(frame: Frame) -> list[Region]:
    """The loops of Python's in which a frame's function is called."""
    chain = frame.region.chain() if frame.region is not None else ()
    return [it for it in chain if it.kind == "loop"]


def is_made_inside(made: Transformed | Node, loop: Region) -> bool:
    """Whether a loop applies a transformation, or makes an object, anew in each turn."""
    region = None if made.frame is None else made.frame.region
    if region is not None and loop in region.chain():
        return True
    syntax: ast.AST = loop.details["syntax"]
    return any(node is made.syntax for node in walked(syntax))


def surrounds(loop: Region, event: Event) -> bool:
    """Whether an event happens in the turns of a loop, and not with what is left after it."""
    region = event.frame.region
    if region is not None and loop in region.chain():
        return True
    return any(node is event.syntax for node in walked(loop.details["syntax"]))


def has_many_turns(loop: Region) -> bool:
    """Whether a loop is neither short nor through things that are written down one by one."""
    syntax = loop.details.get("syntax")
    if isinstance(syntax, (ast.For, ast.While)) and _is_left(syntax.body):
        return False
    iterated = loop.details.get("iterated")
    if not isinstance(iterated, Sequence):
        return True
    if isinstance(iterated.length, int) and iterated.length < FEW:
        return False
    return iterated.items is None


def _is_left(body: list[ast.stmt]) -> bool:
    """Whether statements leave the loop around them, unless something is raised: a second try."""
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Return, ast.Raise)):
            return True
        if isinstance(statement, ast.Try) and (
            _is_left(statement.body) or _is_left(statement.orelse)
        ):
            return True
        if isinstance(statement, ast.With) and _is_left(statement.body):
            return True
    return False


def loops_of(node: Node) -> list[Region]:
    """The loops of Python's in which a value is another one each time."""
    return [region for region in node.varies if region.kind == "loop"]


_FEW = frozenset(("builtins.min", "builtins.max", "builtins.bool", "is", "in", "=="))


def counts(node: Node, depth: int = 0) -> bool:
    """Whether a value is a number that Python counts: of `range`, or of `i += 1`."""
    if node.operation == "counter" or (node.operation == "turn" and not node.inputs):
        return True
    if node.dtype == "bool" or node.operation in _FEW:
        return False  # There are few of them.
    return depth < 6 and any(counts(it, depth + 1) for it in node.inputs)


def root_of(frame: Frame) -> Frame:
    """The outermost caller of a frame: events of two roots have no order."""
    return list(frame.callers())[-1]
