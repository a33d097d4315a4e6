"""Keys that are split off under a name which nothing reads: the ones that were meant."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import KeyUse
from ...frame import Frame
from ...graph import Node
from ...values import Data, nodes_of
from ..flow import next_use
from ..lost.dropped_states import named_parts_of
from ..reads import reads_of
from .reuse import uses

if TYPE_CHECKING:
    from ...facts import SourceFacts

_SPLIT = "jax.random.split"


def spare_beside(key: Node) -> str:
    """The name of an unread key that was split off together with another one; empty if none is."""
    split = key.inputs[0] if key.operation == "item" and key.inputs else None
    if split is None or split.operation != _SPLIT or split.frame is None:
        return ""
    return next((name for name, node in _spares(split.frame) if node.inputs[0] is split), "")


def is_only_child(key: Node) -> bool:
    """Whether the other children of a key's split are thrown away: `_, key = split(key)`."""
    split = key.inputs[0] if key.operation == "item" and key.inputs else None
    frame = split.frame if split is not None and split.operation == _SPLIT else None
    for statement, value in frame.steps if frame is not None else ():
        if isinstance(value, Data) and value.node is split and isinstance(statement, ast.Assign):
            target = statement.targets[0]
            names = target.elts if isinstance(target, ast.Tuple) else []
            kept = [it for it in names if not (isinstance(it, ast.Name) and not it.id.strip("_"))]
            return len(names) > len(kept) == 1
    return False


def _spares(frame: Frame) -> Iterator[tuple[str, Node]]:
    """The keys that a function splits off and never reads, by their names."""
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    for statement, value in frame.steps:
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Tuple):
            continue
        for target, part in named_parts_of(statement.targets[0], value):
            name = target.id if isinstance(target, ast.Name) else ""
            if not name.strip("_") or not isinstance(part, Data) or not _is_split_off(part.node):
                continue
            if name == _split_name(statement):
                continue  # the one to go on with, not one to draw from
            is_read = name in reads_of(function).within
            if not is_read and next_use(function, statement, name) is None:
                yield name, part.node


def _split_name(statement: ast.Assign) -> str:
    """What the key is called that a statement splits."""
    call = statement.value
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    return given.id if isinstance(given, ast.Name) else ""


def _is_split_off(node: Node) -> bool:
    return node.operation == "item" and node.inputs[0].operation == _SPLIT


def drawn_and_returned(facts: SourceFacts) -> Iterator[tuple[KeyUse, str]]:
    """Draws from a key that their function gives back, with a key that it has split off and left.

    What comes next consumes the returned key, so that the one that was left must have been meant.
    """
    spares: dict[Frame, str] = {}
    for use in uses(facts):
        frame = use.frame
        if use.by == _SPLIT or use.before is not None or not frame.returns:
            continue
        if not any(use.key.node in nodes_of(value) for _, value in frame.returns):
            continue
        if frame not in spares:
            spares[frame] = next((name for name, _ in _spares(frame)), "")
        if spares[frame]:
            yield use, spares[frame]
