"""Axes that one reshape takes apart and the next puts together again, with nothing in between."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...shapes.reshaping import regroup
from ...shapes.shape import rank
from ...values import Data
from ..arrays import calls_of
from ..nodes import users_of

if TYPE_CHECKING:
    from ...events import Call
    from ...facts import SourceFacts
    from ...graph import Node


@dataclass(frozen=True, eq=False)
class Undone:
    """The sizes `parts` that an axis was taken apart into, which make the axis `whole` again."""

    call: Call
    first: Node
    parts: tuple[str, ...]
    whole: str


def undone_splits(facts: SourceFacts) -> Iterator[Undone]:
    """Reshapes that merge what the one before has split, under another name.

    `x.reshape(rows, cols, k, k).reshape(height, width)` keeps the order of elements: unless the
    axes change places in between, rows and columns make the height. Who merges `rows * cols` again
    knows what they are.
    """
    for call in calls_of(facts, "reshape"):
        array = call.args[0] if call.args else None
        first = array.node if isinstance(array, Data) else None
        if first is None or not isinstance(call.result, Data) or not _is_for_this(facts, first):
            continue
        if first.frame is not call.frame:
            continue  # What one function takes apart, another may well put together.
        shape = call.result.node.shape
        before, after = written_sizes(first.syntax), written_sizes(call.syntax)
        if len(before) != rank(first.shape) or len(after) != rank(shape):
            continue
        split = regroup(first.inputs[0].shape, first.shape) or ()
        merged = regroup(first.shape, shape) or ()
        apart = {it.new_axes for it in split if it.kind == "split"}
        for group in merged:
            if group.kind != "merged" or group.old_axes not in apart:
                continue
            at = group.new_axes[0]
            parts = tuple(ast.unparse(before[axis]) for axis in group.old_axes)
            if not _says_so(after[at], parts):
                yield Undone(call, first, parts, ast.unparse(after[at]))


def _is_for_this(facts: SourceFacts, node: Node) -> bool:
    """Whether a reshape is made only to be reshaped."""
    if node.operation.rpartition(".")[2] != "reshape" or not node.inputs:
        return False
    users = [it for it in users_of(facts).get(node, ()) if it.operation != "shape"]
    return len({it.syntax for it in users}) == 1


def written_sizes(syntax: ast.AST | None) -> list[ast.expr]:
    """The new sizes as a reshape has them, one by one or in a tuple; empty where some are not."""
    if not isinstance(syntax, ast.Call) or syntax.keywords:
        return []
    given = syntax.args
    *before, last = given or [ast.Constant(None)]
    if isinstance(last, (ast.Tuple, ast.List)) and len(before) <= 1:
        given = last.elts
    return [] if any(isinstance(it, ast.Starred) for it in given) else given


def _says_so(size: ast.expr, parts: tuple[str, ...]) -> bool:
    """Whether a size is written as what is left, or as the product of just these sizes."""
    return ast.unparse(size) == "-1" or sorted(_factors(size)) == sorted(parts)


def _factors(size: ast.expr) -> Iterator[str]:
    if isinstance(size, ast.BinOp) and isinstance(size.op, ast.Mult):
        yield from _factors(size.left)
        yield from _factors(size.right)
    else:
        yield ast.unparse(size)
