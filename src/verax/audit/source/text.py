"""Syntax as text, as Python would write it."""

from __future__ import annotations

import ast

from .remember import remembered

# What stands for an expression that is nested more deeply than anybody reads, or Python writes.
CUT = "…"


@remembered
def text_of(syntax: ast.AST) -> str:
    """A piece of syntax as text."""
    try:
        return ast.unparse(syntax)
    except RecursionError:
        return CUT
