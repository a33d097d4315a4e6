"""New versions of a state that a function makes where it knows that an episode ends.

A state is a record with names for its parts; a part of a new one is often made from the part of the
same name before. What lies between the two, and whether flags decide about it, is what rules ask.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....words import words_of
from ...frame import Frame
from ...graph import Node
from ...operations import JOINS, OR
from ...remember import remembered
from ...values import Class, Data, Instance, Mapping, Sequence, Value
from .ends import named_ends
from .recurrence import depending
from .resets import resets, wipes

if TYPE_CHECKING:
    from ...facts import SourceFacts

# They let through all that they are given, whatever stands beside it.
_OPEN = JOINS | OR | {"+", "-", "join"}


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a new state: `before` is the one of the same name, on a way that no flag gates.

    `is_gated` says that there is a way from the last one, and that flags decide about all of them.
    """

    name: str
    node: Node
    before: Node | None
    path: tuple[Node, ...]
    is_gated: bool


@dataclass(frozen=True, eq=False)
class Update:
    """A new state in the run of a function that knows flags."""

    frame: Frame
    syntax: ast.AST
    state: Value
    parts: list[Part]


@remembered
def updates(facts: SourceFacts) -> list[Update]:
    """All new states of functions that know an end of episodes by a name for it."""
    return list(_updates(facts))


def _updates(facts: SourceFacts) -> Iterator[Update]:
    # Whatever decides on a reset is an end, by whatever name.
    ends: dict[Frame, set[Node]] = defaultdict(set)
    for it in resets(facts):
        if not it.is_reversed:
            ends[it.frame].add(it.judged)
    for frame, flags in wipes(facts).items():
        ends[frame] |= flags
    for frame in facts.own_frames:
        flags = _flags(frame) | ends.get(frame, set())
        if not flags:
            continue
        seen: set[int] = set()
        for syntax, value in (*frame.steps, *frame.returns):
            for state in records_in(value):
                if id(state) not in seen:
                    seen.add(id(state))
                    parts = _compared(frame, state, flags)
                    if any(it.path or it.is_gated for it in parts):
                        yield Update(frame, syntax, state, parts)


def _flags(frame: Frame) -> set[Node]:
    """What a function calls the end of an episode, or what holds where there is none."""
    return {node for name, node in named_ends(frame) if _is_of_episodes(name, node)}


def _is_of_episodes(name: str, node: Node) -> bool:
    """Whether a flag is of episodes; a search or an average starts anew as well."""
    words = set(words_of(name))
    is_told = node.operation in ("parameter", "field", "item", "slice", "lane", "argument")
    return "reset" not in words and (is_told or words.isdisjoint(("first", "start")))


def records_in(value: Value) -> Iterator[Value]:
    """The records in what a statement makes, each once, not those inside of others."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        it = pending.pop()
        if id(it) in seen:
            continue
        seen.add(id(it))
        if isinstance(it, (Instance, Mapping)) or (isinstance(it, Sequence) and it.type):
            yield it
        elif isinstance(it, Sequence):
            pending.extend(reversed(it.items or ()))


def own_parts(state: Value) -> dict[str, Value]:
    """The parts of a record by their names."""
    if isinstance(state, Instance):
        return dict(state.attributes)
    if isinstance(state, Mapping):
        return {key: it for key, it in state.items.items() if isinstance(key, str)}
    if isinstance(state, Sequence) and state.type is not None and state.items is not None:
        return dict(zip(state.type.fields, state.items, strict=False))
    return {}


def class_of(state: Value) -> Class | None:
    """The class of a record."""
    return state.cls if isinstance(state, Instance) else getattr(state, "type", None)


def _compared(frame: Frame, state: Value, flags: set[Node]) -> list[Part]:
    earlier: dict[str, set[Node]] = {}
    for other in frame.environment.values():
        if other is not state:
            for name, value in own_parts(other).items():
                if isinstance(value, Data):
                    earlier.setdefault(name, set()).add(value.node)
    found: list[Part] = []
    for name, value in own_parts(state).items():
        if not isinstance(value, Data):
            continue
        node = value.node
        told = depending(value, flags)
        before = {
            it for it in node.ancestors() if it in earlier.get(name, ()) or _is_part(it, name)
        }
        path = _open_way(node, before, flags, told)
        is_gated = bool(before) and not path and node in told and node not in flags
        found.append(Part(name, node, path[-1] if path else None, tuple(path), is_gated))
    return found


def _is_part(node: Node, name: str) -> bool:
    """Whether a node is a part of something by a name."""
    if node.operation == "field":
        return node.label == name
    return node.operation == "item" and node.label.strip("'\"") == name and not name.isdigit()


def _open_way(node: Node, ends: set[Node], flags: set[Node], told: set[Node]) -> list[Node]:
    """A way from a value back to others about which no flag decides; empty if there is none."""
    pending: list[tuple[Node, tuple[Node, ...]]] = [(node, (node,))]
    seen: set[Node] = set()
    while pending:
        current, path = pending.pop()
        if current in ends:
            return list(path)
        if current in seen or current in flags:
            continue
        seen.add(current)
        for source in current.inputs:
            others = (it for it in current.inputs if it is not source)
            if current.operation in _OPEN or not any(it in told for it in others):
                pending.append((source, (*path, source)))
    return []
