"""Optimisers in the manner of optax: `updates, state = tx.update(gradients, state, params)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Call
from ...looping import assigned_names
from ...remember import remembered
from ...values import NONE, Data, Sequence, Value, nodes_of
from ..forwarding import taken_at
from ..reads import reads_of
from ..syntax import statement_around

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...frame import Frame
    from ...graph import Node


@dataclass(frozen=True, eq=False)
class DroppedState:
    """An update whose new state is dropped; `old` is the state's name, `how` it is used on."""

    call: Call
    old: str
    new: str
    how: str


def dropped_states(facts: SourceFacts) -> Iterator[DroppedState]:
    """Updates whose state is dropped although the old one is used again."""
    applied = _applied_nodes(facts)
    if not applied:
        return
    for call in facts.events(Call):
        if not call.name.endswith(".update") or len(call.args) < 3:
            continue
        result, state = call.result, call.args[2]
        if not isinstance(result, Data) or not isinstance(state, Data):
            continue
        if result.node not in applied:
            continue
        new = _dropped_name(call)
        how = _use_of_old(call, state) if new else ""
        if new and how:
            yield DroppedState(call, facts.name_of(state), new, how)


def _applied_nodes(facts: SourceFacts) -> set[object]:
    """The results of updates whose first part is added to parameters by optax."""
    found: set[object] = set()
    for call in facts.calls(("optax.apply_updates",)):
        if len(call.args) > 1:
            for node in nodes_of(call.args[1]):
                if node.operation == "item" and node.inputs:
                    found.add(node.inputs[0])
    return found


def _dropped_name(call: Call) -> str:
    """The name that the new state goes to, if nothing reads it; else nothing."""
    frame, syntax = taken_at(call.frame, call.syntax)
    statement = statement_around(frame, syntax)
    if not isinstance(statement, ast.Assign) or statement.value is not syntax:
        return ""
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2 or frame.function is None:
        return ""
    second = target.elts[1]
    if not isinstance(second, ast.Name):
        return ""
    is_read = reads_of(frame.function).after(statement, second.id)
    return "" if is_read else second.id


def _use_of_old(call: Call, state: Data) -> str:
    """How the old state is used again, in words; nothing if it is not."""
    frame, syntax = taken_at(call.frame, call.syntax)
    for _, value in frame.returns:
        if any(node is state.node for node in nodes_of(value)):
            return "is returned"
    if frame is not call.frame:
        return ""
    given = syntax.args[1] if isinstance(syntax, ast.Call) and len(syntax.args) > 1 else None
    statement = statement_around(frame, syntax)
    if isinstance(given, ast.Name) and statement is not None and frame.function is not None:
        loops = reads_of(frame.function).around(statement)
        if loops and not any(given.id in assigned_names(loop) for loop in loops):
            return "is used again in the next turn of the loop"
    return ""


@remembered
def renewed_states(facts: SourceFacts) -> dict[Node, tuple[Node, Frame]]:
    """The new states of optimisers with the old ones, and who asks for them."""
    found: dict[Node, tuple[Node, Frame]] = {}
    for call in facts.events(Call):
        if not call.name.endswith(".update") or len(call.args) < 3:
            continue
        old = call.args[2]
        if isinstance(old, Data):
            for node in nodes_of(second_of(call.result)):
                found[node] = old.node, call.frame
    return found


def second_of(value: Value) -> Value:
    """The second part of a pair."""
    if isinstance(value, Sequence) and value.items is not None and len(value.items) == 2:
        return value.items[1]
    parts = value.node.children if isinstance(value, Data) else None
    node = (parts or {}).get(("item", ("constant", 1)))
    return NONE if node is None else Data(node)
