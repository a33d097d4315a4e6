"""Indices as they are written: `x[:, None, -1]`."""

from __future__ import annotations

import ast


def index_parts(syntax: ast.AST | None) -> list[ast.expr]:
    """What an index says of each axis; nothing if it is no index."""
    if not isinstance(syntax, ast.Subscript):
        return []
    index = syntax.slice
    return index.elts if isinstance(index, ast.Tuple) else [index]


def is_new_axis(part: ast.expr) -> bool:
    """Whether it is `None` or `jnp.newaxis`."""
    if isinstance(part, ast.Constant):
        return part.value is None
    return isinstance(part, ast.Attribute) and part.attr == "newaxis"


def is_whole(part: ast.expr) -> bool:
    """Whether everything is taken along an axis, or along several: `:`, `...`."""
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is ...
