"""JAX's loops: what their bodies get, and what they hand on."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ....finding import Place
from ...classes import innermost_function
from ...events import Event, Loop
from ...frame import Frame, Region
from ...graph import Node, sources
from ...operations import LIKES
from ...remember import each, remembered, walked
from ...shapes import Shape
from ...shapes.shape import show_shape
from ...shaping import size_symbol
from ...values import Constant, Data, Instance, Mapping, Sequence, Value, nodes_of
from ..written import written_at

if TYPE_CHECKING:
    from ...facts import SourceFacts


def paired_leaves(one: Value | None, other: Value | None) -> Iterator[tuple[Data, Data]]:
    """The data in two values of the same structure, side by side, as far as they agree."""
    for first, second in pairs(one, other):
        if isinstance(first, Data) and isinstance(second, Data):
            yield first, second


def pairs(one: Value | None, other: Value | None, depth: int = 0) -> Iterator[tuple[Value, Value]]:
    """The innermost parts of two values at the same position, where both have that position."""
    if one is None or other is None or depth > 12:
        return
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        if one.items is not None and other.items is not None and len(one.items) == len(other.items):
            for first, second in zip(one.items, other.items, strict=True):
                yield from pairs(first, second, depth + 1)
            return
    elif isinstance(one, Mapping) and isinstance(other, Mapping):
        if one.items.keys() == other.items.keys():
            for key in one.items:
                yield from pairs(one.items[key], other.items[key], depth + 1)
            return
    elif isinstance(one, Instance) and isinstance(other, Instance) and one.cls is other.cls:
        for name, value in one.attributes.items():
            if name in other.attributes:
                yield from pairs(value, other.attributes[name], depth + 1)
        return
    yield one, other


def body_frame(facts: SourceFacts, loop: Loop) -> Frame | None:
    """The run of a loop's body, or of what a lambda calls in its place."""
    function = innermost_function(loop.body)
    if function is None:
        return None
    frames = facts.record.runs.get(function.syntax, [])
    inside = (frame for frame in frames if _runs_as_body(frame.region, loop.region))
    found = next(inside, None)
    if found is not None and isinstance(function.syntax, ast.Lambda):
        return _called_instead(facts, found, function.syntax.body) or found
    return found


def _called_instead(facts: SourceFacts, frame: Frame, call: ast.expr) -> Frame | None:
    """The run of the project's function that a lambda is but another name for."""
    for it in frames_by_call(facts).get(call, ()) if isinstance(call, ast.Call) else ():
        if it.caller is frame and it.returns:
            is_same = len(it.returns) == 1 and it.returns[0][1] is frame.returns[-1][1]
            return it if is_same else None
    return None


@remembered
def frames_by_call(facts: SourceFacts) -> dict[ast.AST, list[Frame]]:
    """The runs of functions by where they were called."""
    found: dict[ast.AST, list[Frame]] = {}
    for frame in facts.frames:
        if frame.called_at is not None:
            found.setdefault(frame.called_at, []).append(frame)
    return found


def _runs_as_body(region: Region | None, loop: Region) -> bool:
    """Whether some code is the loop's body, be it with `checkpoint` or `jit` around it."""
    while region is not None and region.kind in _AROUND_BODIES:
        region = region.outer
    return region is loop


_AROUND_BODIES = frozenset(("checkpoint", "jit"))


def returned_at(facts: SourceFacts, loop: Loop, part: Node | None = None) -> Place | None:
    """Where the body of a loop returns, or where in there a part of the result is written."""
    frame = body_frame(facts, loop)
    if frame is None or not frame.returns:
        return None
    syntax, value = frame.returns[-1]
    return frame.place(syntax if part is None else written_at(frame, syntax, value, part))


def instead_of_pair(value: Value | None) -> str | None:
    """What the body of a scan returns, in words, if that is certainly no pair."""
    if isinstance(value, Sequence) and value.items is not None and value.kind in ("tuple", "list"):
        return None if len(value.items) == 2 else f"a {value.kind} of {len(value.items)}"
    if isinstance(value, Constant):
        return repr(value.value)
    if isinstance(value, Mapping):
        return "a dict"
    is_array = isinstance(value, Data) and value.is_array and value.node.operation not in _UNKNOWN
    return "a single array" if is_array else None


# An array of two rows can be taken apart as a pair can.
_UNKNOWN = frozenset(("carry", "slice", "parameter", "join", "item", "turn"))


def calls(event: Event) -> Iterator[tuple[Frame, ast.AST]]:
    """The frames that an event is in, innermost first, each with where it is in there."""
    frame: Frame | None = event.frame
    syntax: ast.AST | None = event.syntax
    while frame is not None and syntax is not None:
        yield frame, syntax
        frame, syntax = frame.caller, frame.called_at


def is_within(event: Event, region: Region) -> bool:
    """Whether an event happens in a loop of Python's, or in a function that it calls."""
    loop: ast.AST | None = region.details.get("syntax")
    if loop is None:
        return False
    inside = set(map(id, walked(loop)))
    return any(id(syntax) in inside for _, syntax in calls(event))


def shown_shape(shape: Shape) -> str:
    """A shape for a reader: names of symbols without what keeps them apart."""
    return re.sub(r"#[~\d.]*", "", show_shape(shape)).replace("'", "")


def behind(value: Value | None) -> set[Node]:
    """Everything that a value is made from, itself included."""
    return set() if value is None else sources(nodes_of(value))


def assigned(frame: Frame) -> Iterator[tuple[ast.stmt, str, Value]]:
    """The names that a function assigns, each with its statement and its last value."""
    for statement, _ in frame.steps:
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        for target in targets:
            for node in walked(target) if target is not None else ():
                if isinstance(node, ast.Name) and node.id in frame.environment:
                    yield statement, node.id, frame.environment[node.id]


def leading_size(node: Node) -> Any:
    """The size of an array's first axis, by its symbol where the program asks for the shape."""
    if isinstance(node.shape, tuple):
        return node.shape[0] if node.shape else None
    asked = (node.children or {}).get(("static", "shape"))
    return None if asked is None or node.shape is not None else size_symbol(asked, 0)


# They take nothing of an array but its shape and type.
_LIKE = LIKES | {"static"}


def made_from(nodes: Iterable[Node]) -> set[Node]:
    """Everything whose numbers go into some values; those that only lend their shape do not."""
    return sources(nodes, lambda node: node.operation not in _LIKE)


def named_at(frame: Frame | None, node: Node) -> Place | None:
    """Where the code of a function first names something that holds a value from outside."""
    if frame is None or frame.function is None:
        return None
    names = each(frame.function, ast.Name)
    for name in sorted(names, key=lambda it: (it.lineno, it.col_offset)):
        scope: Frame | None = frame
        while scope is not None and name.id not in scope.environment:
            scope = scope.outer
        is_outside = scope is not None and scope is not frame
        if scope is not None and is_outside and node in nodes_of(scope.environment[name.id]):
            return frame.place(name)
    return None


def element_written(frame: Frame | None, scanned: Node) -> Place | None:
    """Where a body takes one element, by its number, of an array that is scanned in whole or part.

    An element that was taken before the loop is the same value: only the syntax tells of both.
    """
    if frame is None or frame.function is None:
        return None
    wholes = {scanned}
    if scanned.operation == "item" and isinstance(scanned.syntax, ast.Subscript):
        wholes.update(scanned.inputs[:1])
    for node in walked(frame.function):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name):
            continue
        scope: Frame | None = frame
        while scope is not None and node.value.id not in scope.environment:
            scope = scope.outer
        held = scope.environment[node.value.id] if scope is not None else None
        is_number = ast.unparse(node.slice).lstrip("-").isdigit()
        if is_number and isinstance(held, Data) and held.node in wholes:
            return frame.place(node)
    return None
