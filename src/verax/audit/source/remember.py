"""What is known of a piece of syntax, worked out once and kept with it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_Node = TypeVar("_Node", bound=ast.AST)
_Known = TypeVar("_Known")


def remembered(make: Callable[[_Node], _Known]) -> Callable[[_Node], _Known]:
    """A function of syntax that remembers its result in the syntax: it is gone when that is."""
    key = f"{make.__module__}.{make.__name__}"

    def ask(node: _Node) -> _Known:
        known: dict[str, Any] = node.__dict__
        if key not in known:
            known[key] = make(node)
        return known[key]

    ask.__doc__ = make.__doc__
    return ask


def children(node: ast.AST) -> Iterator[ast.AST]:
    """As `ast.iter_child_nodes`, for when there are many."""
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(item, ast.AST):
                    yield item


@remembered
def walked(node: ast.AST) -> list[ast.AST]:
    """All syntax in a piece of syntax, itself first: as `ast.walk`, for when it is asked often."""
    found = [node]
    for it in found:
        found.extend(children(it))
    return found
