"""Values that a name is given and loses again, before anybody reads them.

A name that is given another value before it was read is often harmless. It is told where the new
value starts over from what the old one was made of: the step in between has no effect then.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

from ....finding import Place
from ...frame import Frame
from ...graph import Node
from ...operations import PARTS
from ...remember import each, remembered
from ...values import Data, Instance, Value, nodes_of
from ..reads import reads_of
from ..syntax import statements_in
from .dropped import Names, live_in
from .dropped_states import named_parts_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True)
class Overwritten:
    """A name, where its value was computed, where it is replaced, and what both start from."""

    name: str
    computed: Place
    replaced: Place
    source: str
    is_gradient: bool


@dataclass(frozen=True)
class StoredTwice:
    """A name that a block stores to twice without reading it, and what comes after that."""

    name: str
    first: ast.Assign
    second: ast.Assign
    rest: list[ast.stmt]


def overwritten_values(facts: SourceFacts) -> Iterator[Overwritten]:
    """All of them, in each function once."""
    for function, runs in facts.functions():
        pairs = stored_twice(function)
        if pairs:
            yield from _of_run(function, runs[0], pairs)


def _of_run(function: ast.AST, frame: Frame, pairs: list[StoredTwice]) -> Iterator[Overwritten]:
    values = dict(frame.steps)
    within = reads_of(function).within
    for pair in pairs:
        name, first, second = pair.name, pair.first, pair.second
        if name in within or first not in values or second not in values:
            continue
        old, new = _part(first, values[first], name), _part(second, values[second], name)
        if not isinstance(old, Data) or old.node.is_key or old.traced is False:
            continue
        made, again = _computed(first, old), _computed(second, new)
        if made is None or (again is not None and ast.dump(made) == ast.dump(again)):
            continue  # Something that was there before, or the same once more: nothing is lost.
        if made is not first.value and old.node in live_in(frame):
            continue  # It has had another name all the time.
        places = frame.place(first), frame.place(second)
        if old.node.operation == "gradient":
            yield Overwritten(name, *places, "", is_gradient=True)
        elif isinstance(first.targets[0], ast.Name) and isinstance(second.targets[0], ast.Name):
            sources = _start_again(frame, name, old.node, new)
            source = next((it for it in sources if not _may_act(frame, made, it)), "")
            if source and source not in _called(again or second.value):
                yield Overwritten(name, *places, source, is_gradient=False)


_COMPUTING = (ast.Call, ast.BinOp)
# They take what was computed out of something, or give it another name.
_TAKING = (ast.Subscript, ast.Attribute, ast.Name)


def _computed(statement: ast.Assign, value: Value | None) -> ast.expr | None:
    """The expression that computes what a statement assigns, be it before and in a container."""
    if isinstance(statement.value, _COMPUTING):
        return statement.value
    made = value.node.syntax if isinstance(value, Data) else None
    return made if isinstance(made, _COMPUTING) else None


def _may_act(frame: Frame, computed: ast.expr, source: str) -> bool:
    """Whether what computes the first value may do so for what it does to something else.

    Arrays of JAX do not change; of other libraries' things nobody knows.
    """
    value = frame.environment.get(source)
    if isinstance(value, Data) and value.is_array:
        return False
    return frame.module.has_other_arrays or source in _owners(computed)


def _owners(expression: ast.expr) -> set[str]:
    """The names whose methods an expression calls: `figure.add_subplot(2)`."""
    called = [it.func for it in each(expression, ast.Call)]
    owners = [it.value for it in called if isinstance(it, ast.Attribute)]
    return {it.id for it in owners if isinstance(it, ast.Name)}


def _called(expression: ast.expr) -> set[str]:
    """The functions that an expression calls by a name."""
    calls = [it.func for it in each(expression, ast.Call)]
    return {it.id for it in calls if isinstance(it, ast.Name)}


def _part(statement: ast.Assign, value: Value, name: str) -> Value | None:
    """What a statement gives to a name."""
    parts = named_parts_of(statement.targets[0], value)
    return next((it for at, it in parts if isinstance(at, ast.Name) and at.id == name), None)


def _start_again(frame: Frame, name: str, old: Node, new: Value | None) -> Iterator[str]:
    """What a new value is computed from that an old one was computed from too, by name."""
    names = Names(frame)
    made_from = set(islice(old.ancestors(), 300)) - {old}
    for node in nodes_of(new) if new is not None else ():
        for it in _operands(frame, node):
            called = names.of(it, but=name) if it in made_from else None
            if called is not None:
                yield called


def _operands(frame: Frame, node: Node) -> Iterator[Node]:
    """What a statement computes a value from, itself or in the functions that it calls."""
    pending = [node]
    for current in pending:
        if len(pending) > 100:
            return
        for it in _given(current):
            yield it
            is_elsewhere = it.frame is not frame and it.operation != "parameter"
            if is_elsewhere or current.operation in PARTS:
                pending.append(it)


def _given(node: Node) -> tuple[Node, ...]:
    """What an operation is done to: what is called for it is a tool, whose parts are none of it."""
    is_called = node.operation.startswith(".") or (node.operation == "call" and _calls_data(node))
    return node.inputs[1:] if is_called and len(node.inputs) > 1 else node.inputs


def _calls_data(node: Node) -> bool:
    """Whether what is called is a value of the program's, and no function of another module."""
    called = node.syntax.func if isinstance(node.syntax, ast.Call) else None
    while isinstance(called, ast.Attribute):
        called = called.value
    scope = node.frame
    while scope is not None and isinstance(called, ast.Name):
        if called.id in scope.environment:
            return isinstance(scope.environment[called.id], (Data, Instance))
        scope = scope.outer
    return True


@remembered
def stored_twice(function: ast.AST) -> list[StoredTwice]:
    """All such names of a function."""
    found: list[StoredTwice] = []
    for owner in (function, *statements_in(function)):
        for block in ("body", "orelse", "finalbody"):
            statements: Any = getattr(owner, block, None)
            # With one statement alone there is nothing to be stored over.
            if isinstance(statements, list) and len(cast("list[ast.stmt]", statements)) > 1:
                found.extend(_in_block(cast("list[ast.stmt]", statements)))
    return found


def _in_block(block: list[ast.stmt]) -> Iterator[StoredTwice]:
    unread: dict[str, ast.Assign] = {}
    for number, statement in enumerate(block):
        stored: set[str] = set()
        for node in each(statement, ast.Name):
            if isinstance(node.ctx, ast.Store):
                stored.add(node.id)
            else:
                unread.pop(node.id, None)
        before = {name: unread.pop(name) for name in stored if name in unread}
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        for name, first in before.items():
            yield StoredTwice(name, first, statement, block[number + 1 :])
        if isinstance(statement.value, (*_COMPUTING, *_TAKING)):
            unread.update((name, statement) for name in stored if not name.startswith("_"))
