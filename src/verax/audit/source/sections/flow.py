"""Data flow of a function: its lines, what they read, and what they make."""

from __future__ import annotations

import ast
from collections import defaultdict
from itertools import islice

from ...report import Flow, FlowStep, FlowValue
from ..facts import SourceFacts
from ..frame import Frame
from ..graph import Node, sources
from ..text import text_of
from ..values import Data, Sequence, Value, leaves
from .paths import leaves_by_path
from .tensors import tensor_of

# Calls within calls that are shown.
_DEPTH = 3
_LONGEST = 100
# Parts of one argument that are shown, and of what a line makes.
_MOST = 200
_MOST_MADE = 8


Calls = dict[Frame, list[Frame]]


def calls_of(facts: SourceFacts) -> Calls:
    """The frames that each frame calls."""
    found: Calls = defaultdict(list)
    for frame in facts.frames:
        if frame.caller is not None:
            found[frame.caller].append(frame)
            if frame.caller.function is None and frame.caller.caller is not None:
                # A boundary has a frame of its own.
                found[frame.caller.caller].append(frame)
    return found


def flow_of(facts: SourceFacts, frame: Frame, calls: Calls) -> Flow:
    """The data flow of one run of a function, from its parameters to what it returns."""
    writer = _Writer(calls)
    inputs = tuple(
        writer.value(leaf.node, path)
        for name, value in frame.given.items()
        for path, leaf in islice(leaves_by_path(name, value), _MOST)
    )
    steps = writer.steps(frame, 0)
    outputs = tuple(
        writer.value(leaf.node, path)
        for _, value in frame.returns
        for path, leaf in islice(leaves_by_path("output", value), _MOST)
    )
    place = frame.place(frame.function) if frame.function is not None else None
    used = sources(leaf.node for _, value in frame.returns for leaf in leaves(value))
    is_known = facts.is_known(place)
    notes = tuple(
        f"`{it.name}` reaches no output"
        for it in inputs
        if is_known and writer.node(it) not in used
    )
    return Flow(frame.name, place, inputs, _consumed(steps), tuple(dict.fromkeys(outputs)), notes)


class _Writer:
    """Numbers values as they come up."""

    def __init__(self, calls: Calls):
        self._ids: dict[Node, str] = {}
        self._nodes: dict[str, Node] = {}
        self._calls = calls

    def value(self, node: Node, name: str) -> FlowValue:
        identity = self._ids.get(node)
        if identity is None:
            identity = self._ids[node] = f"v{len(self._ids)}"
            self._nodes[identity] = node
        return FlowValue(identity, name, tensor_of(node))

    def steps(self, frame: Frame, depth: int) -> tuple[FlowStep, ...]:
        """The lines of a run, with what runs inside of them."""
        found: list[FlowStep] = []
        for statement, value in frame.steps:
            consumed = self._consumed(value)
            children = self._children(frame, statement, depth)
            # What a function returns has a name already, unless it is made there.
            made = [
                (name, node)
                for name, node in _made(statement, value)
                if name or node not in self._ids
            ]
            produced = tuple(self.value(node, name) for name, node in made)
            is_return = isinstance(statement, ast.Return) and bool(consumed)
            if produced or children or is_return:
                text, place = _text(statement), frame.place(statement)
                found.append(FlowStep(text, place, consumed, produced, children=children))
        return tuple(found)

    def _children(self, frame: Frame, statement: ast.stmt, depth: int) -> tuple[FlowStep, ...]:
        if depth >= _DEPTH:
            return ()
        inside = {id(node) for node in ast.walk(statement)}
        for inner in self._calls.get(frame, ()):
            called = inner.called_at
            if called is not None and id(called) in inside and inner.module is frame.module:
                return self.steps(inner, depth + 1)
        return ()

    def _consumed(self, value: Value) -> tuple[str, ...]:
        """The nearest values that already have a number, of all that this one is made from."""
        found: dict[str, None] = {}
        seen: set[Node] = set()
        pending = [leaf.node for leaf in leaves(value)]
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            identity = self._ids.get(node)
            if identity is not None:
                found[identity] = None
            else:
                pending.extend(node.inputs)
        return tuple(sorted(found, key=lambda it: int(it[1:])))

    def node(self, value: FlowValue) -> Node:
        """The node of a value that has a number."""
        return self._nodes[value.id]


def _made(statement: ast.stmt, value: Value) -> list[tuple[str, Node]]:
    """The names that a statement gives, each with its value's nodes."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    target = targets[0]
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, Sequence) and value.items:
        pairs = zip(target.elts, value.items, strict=False)
        return [made for it, item in pairs for made in _named(_name(it), item)]
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, Data):
        children = (value.node.children or {}).values()
        parts = [child for child in children if child.operation == "item"]
        return [(_name(it), part) for it, part in zip(target.elts, parts, strict=False)]
    return _named(_name(target), value)


def _named(name: str, value: Value) -> list[tuple[str, Node]]:
    if not name:
        return [("", leaf.node) for leaf in leaves(value)[:_MOST_MADE]]
    return [(path, leaf.node) for path, leaf in islice(leaves_by_path(name, value), _MOST_MADE)]


def _name(target: ast.AST | None) -> str:
    return "" if target is None else text_of(target)


def _text(statement: ast.stmt) -> str:
    text = text_of(statement).partition("\n")[0]
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _consumed(steps: tuple[FlowStep, ...]) -> tuple[FlowStep, ...]:
    """The steps, each with the values that are made from its own."""
    users: dict[str, list[str]] = defaultdict(list)
    for outer in steps:
        for _, step in outer.walk():
            for read in step.consumes:
                users[read] += [it.id for it in step.produces if it.id != read]

    def told(step: FlowStep) -> FlowStep:
        consumers = [user for it in step.produces for user in users[it.id]]
        return FlowStep(
            step.text,
            step.place,
            step.consumes,
            step.produces,
            tuple(dict.fromkeys(consumers)),
            step.notes,
            tuple(told(child) for child in step.children),
            step.repeat,
            step.kind,
        )

    return tuple(told(step) for step in steps)
