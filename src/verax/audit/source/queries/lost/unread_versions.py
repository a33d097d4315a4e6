"""New versions of a whole tree, or of what a loop went through, that nothing reads.

`moved = integrate(arm)` and then `limited(arm)`: the name is never read, and what the value is a
new version of is used on in its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...frame import Frame
from ...graph import Node
from ...looping import assigned_names
from ...operations import SELECTIONS
from ...remember import walked
from ...values import Data, Value
from ..reads import Reads, reads_of
from ..syntax import body_of
from .dropped import Dropped
from .dropped_states import is_version_of, named_parts_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What stands for one of its inputs, or for what that has become in a loop.
_SAME_THING = frozenset("last join carry turn primal lane".split())
_SUMS = frozenset(("+", "-"))
_APPLIED = frozenset(("optax.apply_updates",))
# They give the same model in another mode, or with other parts.
_CHANGED = frozenset(
    "equinox.nn.inference_mode equinox.tree_inference equinox.apply_updates equinox.tree_at".split()
)


def unread_versions(facts: SourceFacts) -> Iterator[Dropped]:
    """All such versions that functions of the file compute."""
    for function, runs in facts.functions():
        candidates = _unread(function, runs[0])
        for statement, name in candidates:
            found = next((it for it in _of_runs(runs, statement, name)), None)
            if found is not None:
                yield found


def _unread(function: ast.AST, frame: Frame) -> list[tuple[ast.Assign, str]]:
    """Assignments of a call's results to names, each with one of them that nothing reads."""
    found: list[tuple[ast.Assign, str]] = []
    for statement, _ in frame.steps:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if len(statement.targets) > 1:
            continue
        for name in _targets(statement.targets[0]):
            if not name.startswith("_") and not reads_of(function).after(statement, name):
                found.append((statement, name))
    return found


def _targets(target: ast.expr) -> list[str]:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return [it.id for it in parts if isinstance(it, ast.Name)]


def _of_runs(runs: list[Frame], statement: ast.Assign, name: str) -> Iterator[Dropped]:
    for frame in runs:
        if frame.returns and not frame.yields:
            values = [value for step, value in frame.steps if step is statement]
            for target, value in named_parts_of(statement.targets[0], values[0]) if values else ():
                if isinstance(target, ast.Name) and target.id == name:
                    yield from _replaced(frame, statement, name, value)


def _replaced(frame: Frame, statement: ast.Assign, name: str, new: Value) -> Iterator[Dropped]:
    """The names that the value is a new version of and that are read afterwards."""
    assert frame.function is not None
    reads = reads_of(frame.function)
    for old in _arguments(statement):
        held = (frame.environment.get(old), frame.given.get(old))
        if old == name or not any(_is_later(new, it) for it in held):
            continue
        uses = _uses_after(reads, statement, old)
        if uses and not _is_made_again(frame, statement, old, uses[0]):
            at = uses[0] if len(uses) == 1 else statement
            yield Dropped(name, frame.place(statement), old, used_at=frame.place(at))


def _arguments(statement: ast.Assign) -> list[str]:
    """The names that a call is given, and that keep their values."""
    call = statement.value
    assert isinstance(call, ast.Call)
    given = (*call.args, *(it.value for it in call.keywords))
    # Of several results some are of no use, and one has the name of what went in.
    anew = assigned_names(statement)
    return [it.id for it in given if isinstance(it, ast.Name) and it.id not in anew]


def _uses_after(reads: Reads, statement: ast.Assign, name: str) -> list[ast.Name]:
    end = statement.end_lineno or statement.lineno
    return [it for it in reads.lines.get(name, ()) if it.lineno > end]


def _is_made_again(frame: Frame, statement: ast.Assign, name: str, use: ast.Name) -> bool:
    """Whether a name gets another value between a statement and a use of it."""
    end = statement.end_lineno or statement.lineno
    return any(
        isinstance(it, ast.stmt) and end < it.lineno <= use.lineno and name in assigned_names(it)
        for it in walked(body_of(frame))
    )


def _is_later(new: Value, old: Value | None) -> bool:
    return old is not None and old is not new and _is_version(new, old)


def _is_version(new: Value, old: Value) -> bool:
    if isinstance(new, Data) and new.type in _CHANGED:
        return True
    if not isinstance(new, Data):
        return is_version_of(new, old)
    if not isinstance(old, Data) or old.node.is_key or new.node is old.node:
        return False
    return any(it is old.node for it in _versions(new.node))


def _versions(node: Node) -> Iterator[Node]:
    """What a value is a later version of, element by element or leaf by leaf."""
    pending, seen = [node], {node}
    while pending and len(seen) < 60:
        for it in _earlier(pending.pop()):
            if it not in seen:
                seen.add(it)
                yield it
                pending.append(it)


def _earlier(node: Node) -> list[Node]:
    operation = node.operation
    if operation in _SAME_THING or operation in _SUMS:
        return list(node.inputs)
    if operation in SELECTIONS:
        return [it.node for it in node.operands[1:] if isinstance(it, Data)]
    return list(node.inputs[:1]) if operation in _APPLIED else []
