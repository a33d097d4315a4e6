"""Syntax as text, as Python would write it."""

from __future__ import annotations

import ast

from .remember import remembered

# What stands for an expression that is nested more deeply than anybody reads, or Python writes.
CUT = "…"


@remembered
def text_of(syntax: ast.AST) -> str:
    """A piece of syntax as text."""
    path = _dotted(syntax)
    if path:
        return path
    try:
        return ast.unparse(syntax)
    except RecursionError:
        return CUT


def _dotted(syntax: ast.AST) -> str:
    """The text of a name and its attributes, which most of what is asked for are."""
    attributes: list[str] = []
    while isinstance(syntax, ast.Attribute):
        attributes.append(syntax.attr)
        syntax = syntax.value
    return ".".join((syntax.id, *reversed(attributes))) if isinstance(syntax, ast.Name) else ""
