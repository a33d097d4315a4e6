"""Axes of size one: whether someone wrote them, or they came with the data."""

from __future__ import annotations

import ast

from ..graph import Node
from ..shapes.shape import rank, size_of

_WRITTEN = frozenset("reshape expand_dims atleast_2d atleast_3d broadcast_to at newaxis".split())
_REDUCTIONS = frozenset("sum mean max min prod var std any all argmax argmin norm".split())


def unit_is_written(node: Node, axis: int, or_kept: bool = False) -> bool:
    """Whether an axis of size one, counted from the end, was put there on purpose.

    An axis that a reduction keeps (`keepdims=True`) counts as written too, unless `or_kept`: two
    arrays with the same axis are not two arrays of one length by chance.
    """
    for _ in range(32):
        name = node.operation.rpartition(".")[2]
        if node.operation == "item" and _adds_axis(node.syntax):
            return True
        if name in _WRITTEN:
            return True
        if name in _REDUCTIONS:
            return not or_kept
        before = _with_unit(node, axis)
        if before is None:
            return False
        node = before
    return False


def _with_unit(node: Node, axis: int) -> Node | None:
    """The operand from which a result has its axis of size one, if it is of the same rank."""
    for source in node.inputs:
        if rank(source.shape) == rank(node.shape) and size_of(source.shape, axis) == 1:
            return source
    return None


def _adds_axis(syntax: ast.AST | None) -> bool:
    """Whether an index has `None` or `jnp.newaxis` in it."""
    if not isinstance(syntax, ast.Subscript):
        return False
    index = syntax.slice
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    return any(
        (isinstance(part, ast.Constant) and part.value is None)
        or (isinstance(part, ast.Attribute) and part.attr == "newaxis")
        or (isinstance(part, ast.Slice))
        for part in parts
    )
