"""What a program calls a value: by all names that it has in a function and where it comes from."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from ...syntax import expression_in
from ..frame import Frame
from ..graph import Node
from ..remember import remembered
from ..text import text_of
from ..values import Data, Instance, Mapping, Sequence, Value

if TYPE_CHECKING:
    from ..facts import SourceFacts

_SAME_THING = frozenset(("turn", "carry", "lane", "slice", "primal", "element", "stack", "last"))


def names_of(facts: SourceFacts, node: Node, frame: Frame | None = None) -> set[str]:
    """The names under which a value is known: its own, and those that a function gives it."""
    found = {name for name in (facts.name_of(Data(node)),) if _is_name(name)} | _labels(node)
    known = _given_names(facts)
    scope, same = frame, _wholes(node)
    while scope is not None and scope.function is not None:
        names = known.get(scope)
        if names is None:
            names = known[scope] = _names_in(scope)
        for it in same:
            found.update(names.get(it, ()))
        scope = scope.outer
    return found


@remembered
def _given_names(facts: SourceFacts) -> dict[Frame, dict[Node, list[str]]]:
    """The names that functions give to values, by the runs that somebody has asked about."""
    return {}


def _names_in(frame: Frame) -> dict[Node, list[str]]:
    """What a function calls its values, and their parts."""
    found: dict[Node, list[str]] = {}
    for name, value in frame.environment.items():
        if isinstance(value, Data):
            found.setdefault(value.node, []).append(name)
        elif isinstance(value, (Sequence, Mapping, Instance)):
            for path, leaf in named_parts(value):
                found.setdefault(leaf, []).append(path)
    return found


_SHARES = frozenset(("slice", "lane", "element", "primal"))


def _wholes(node: Node) -> set[Node]:
    """A value, and what it is a share of: a turn's flag is known by the name of all flags."""
    found = {node}
    while node.operation in _SHARES and node.inputs:
        node = node.inputs[0]
        found.add(node)
    return found


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    """Whether a text names one thing, and does not compute something from several."""
    if text.isidentifier():
        return True
    syntax = expression_in(text)
    if syntax is None or isinstance(syntax, (ast.Name, ast.Attribute, ast.Subscript)):
        return True
    return len({it.id for it in ast.walk(syntax) if isinstance(it, ast.Name)}) < 2


def _labels(node: Node) -> set[str]:
    found: set[str] = set()
    for _ in range(8):
        if node.operation in ("parameter", "field", "argument") or node.operation in _SAME_THING:
            found.add(node.label)
        elif node.operation == "item":
            found.add(node.label.strip("'\""))
            if isinstance(node.syntax, ast.Subscript):
                found.add(text_of(node.syntax.value))
        if node.operation not in _SAME_THING or not node.inputs:
            break
        node = node.inputs[0]
    return found


def named_parts(value: Value, depth: int = 0) -> list[tuple[str, Node]]:
    """The data in a container by the name of its field or key."""
    found: list[tuple[str, Node]] = []
    parts: list[tuple[str, Value]] = []
    if isinstance(value, Mapping):
        parts = [(key, item) for key, item in value.items.items() if isinstance(key, str)]
    elif isinstance(value, Instance):
        parts = list(value.attributes.items())
    elif isinstance(value, Sequence) and value.items is not None:
        names = list(value.type.fields) if value.type is not None else [""] * len(value.items)
        parts = list(zip(names, value.items, strict=False))
    for name, item in parts:
        if isinstance(item, Data):
            found.append((name, item.node))
        elif depth < 4:
            found.extend(named_parts(item, depth + 1))
    return found


def local_name(facts: SourceFacts, frame: Frame | None, *values: Data) -> str:
    """What a function calls one of some values; else where the first comes from."""
    environment = frame.environment if frame is not None else {}
    for value in values:
        for name, own in environment.items():
            if isinstance(own, Data) and own.node is value.node:
                return name
    return facts.name_of(values[0])
