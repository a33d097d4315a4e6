"""Which way a loop goes through arrays outside of it: from their first row or from their last."""

from __future__ import annotations

import ast

from ...events import Loop
from ...graph import Node
from ...values import Constant, Data
from .bodies import behind


def runs_backwards(loop: Loop) -> bool:
    """Whether a loop is reversed, scans what was turned round, or counts down from the end."""
    reverse = loop.options.get("reverse")
    if isinstance(reverse, Constant) and reverse.value:
        return True
    return any(map(is_turned_round, behind(loop.xs))) or any(
        loop.region in it.varies and is_counted_back(it) for it in behind(loop.returned)
    )


def is_turned_round(node: Node) -> bool:
    """Whether an array is turned round, or taken apart in a way that may do it."""
    if "flip" in node.operation:
        return True
    syntax = node.syntax
    if node.operation != "item" or not isinstance(syntax, ast.Subscript):
        return False
    return any(isinstance(it, ast.Slice) and it.step for it in ast.walk(syntax.slice))


def is_counted_back(node: Node) -> bool:
    """Whether an element is taken at a position that is counted from the end: `x[n - 1 - i]`."""
    return node.operation in ("field", "item") and any(
        it.operation == "-" and len(it.operands) == 2 and isinstance(it.operands[1], Data)
        for it in node.inputs[1:]
    )
