"""Syntax as text, as Python would write it."""

from __future__ import annotations

import ast

# What stands for an expression that is nested more deeply than anybody reads, or Python writes.
CUT = "…"


def text_of(syntax: ast.AST) -> str:
    """A piece of syntax as text."""
    try:
        return ast.unparse(syntax)
    except RecursionError:
        return CUT
