"""The arrays that a line of source names, looked up where it ran."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import jax


def expressions(text: str) -> Iterator[ast.expr]:
    """Names, attributes and items in a statement, outer ones first, not what is assigned."""
    for candidate in (text, f"{text} pass", f"{text}\n pass"):
        try:
            tree = ast.parse(candidate)
            break
        except SyntaxError:
            continue
    else:
        return
    for node in ast.walk(tree):
        loads = isinstance(getattr(node, "ctx", None), ast.Load)
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and loads:
            yield node


def value_of(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """The value of a name, an attribute or an item, without running code of the user's."""
    if isinstance(node, ast.Name):
        return names[node.id]
    if isinstance(node, ast.Attribute):
        owner = value_of(node.value, names)
        if isinstance(owner, jax.Array):
            raise TypeError("an attribute of an array is computed")
        return (
            vars(owner)[node.attr] if node.attr in _variables(owner) else getattr(owner, node.attr)
        )
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = value_of(node.value, names)
        if isinstance(owner, (dict, list, tuple)):
            item: Any = node.slice.value
            return owner[item]  # pyright: ignore[reportUnknownVariableType]
    raise TypeError("not a plain reference")


def _variables(owner: Any) -> Mapping[str, Any]:
    return getattr(owner, "__dict__", {})
