"""What the body of a loop calls the values that it gets."""

from __future__ import annotations

import ast

from ...frame import Frame
from ...graph import Node
from ...values import Data, Value
from ..lost.dropped_states import named_parts_of


def names_in(frame: Frame, nodes: set[Node]) -> dict[Node, set[str]]:
    """The names of some values in a function, also those that it gives to something else later."""
    found: dict[Node, set[str]] = {}

    def called(name: str, value: Value) -> None:
        if isinstance(value, Data) and value.node in nodes:
            found.setdefault(value.node, set()).add(name)

    for name, value in (*frame.environment.items(), *frame.given.items()):
        called(name, value)
    for statement, value in frame.steps:
        if isinstance(statement, ast.Assign):
            for target, part in named_parts_of(statement.targets[0], value):
                if isinstance(target, ast.Name):
                    called(target.id, part)
    return found
