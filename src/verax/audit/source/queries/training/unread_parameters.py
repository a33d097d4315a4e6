"""Parameters that have learned something, under a name that nothing reads.

`adapted, losses = adapt(params, task)` and then `loss(params, query)`: what was learned is lost,
and what it was learned from is used in its place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...frame import Frame
from ...graph import sources
from ...values import Data, Mapping, Value, nodes_of
from ..flow import next_use, sets
from ..lost.dropped import Dropped
from ..lost.dropped_states import is_version_of, named_parts_of
from ..reads import reads_of
from ..structures.structure import parts_of
from ..syntax import body_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


def unread_parameters(facts: SourceFacts) -> Iterator[Dropped]:
    """All such parameters that functions of the file get back, beside something else."""
    for _, runs in facts.functions():
        told: set[ast.stmt] = set()
        for frame in runs:
            for statement, value in frame.steps:
                if statement not in told and isinstance(statement, ast.Assign):
                    for found in _of_statement(frame, statement, value):
                        told.add(statement)
                        yield found


def _of_statement(frame: Frame, statement: ast.Assign, value: Value) -> Iterator[Dropped]:
    call, target = statement.value, statement.targets[0]
    if not isinstance(call, ast.Call) or not isinstance(target, ast.Tuple):
        return
    assert frame.function is not None
    for name, part in named_parts_of(target, value):
        if not isinstance(name, ast.Name) or name.id.startswith("_"):
            continue
        if reads_of(frame.function).after(statement, name.id) or not _has_learned(part):
            continue
        # Of several results some are of no use, and one has the name of what went in.
        given = [it for it in _given(frame, call) if not sets(statement, it[0])]
        for text, old in given:
            used = next_use(body_of(frame), statement, text) if _is_version(part, old) else None
            if used is not None:
                yield Dropped(name.id, frame.place(statement), text, used_at=frame.place(used))
                return


def _has_learned(value: Value) -> bool:
    nodes = nodes_of(value)
    return bool(nodes) and any(it.operation == "gradient" for it in sources(nodes[:1]))


def _given(frame: Frame, call: ast.Call) -> Iterator[tuple[str, Value]]:
    """What a call is given by name, and the fields of that, each as it would be written."""
    for it in (*call.args, *(it.value for it in call.keywords)):
        value = frame.environment.get(it.id) if isinstance(it, ast.Name) else None
        if not isinstance(it, ast.Name) or value is None:
            continue
        yield it.id, value
        if not isinstance(value, (Data, Mapping)):
            yield from ((f"{it.id}.{field}", part) for field, part in parts_of(value).items())


def _is_version(new: Value, old: Value) -> bool:
    if isinstance(new, Data) and isinstance(old, Data):
        return new.node is not old.node and _starts_from(new, old)
    return is_version_of(new, old)


def _starts_from(new: Data, old: Data) -> bool:
    """Whether a loop starts with one value and ends with the other, or steps are added to it."""
    node = new.node
    for _ in range(20):
        if node is old.node:
            return True
        if node.operation not in ("last", "join", "carry", "turn", "-", "+", "optax.apply_updates"):
            return False
        if not node.inputs:
            return False
        node = node.inputs[0]
    return False
