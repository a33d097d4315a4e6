"""Sums over all that a map runs over, divided by the length of the one that a lane has."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...frame import Frame, Region
from ...graph import Node
from ...operations import MAXIMA, bare
from ...shapes.dims import same
from ...shapes.shape import Known
from ...values import Data
from ..nodes import nodes_by
from .divided_lanes import length_written, stored_once, sums_of_other
from .lanes import Lane, lanes_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

_BOUNDS = bare(MAXIMA) | {"max"}
_MOST_STEPS = 200


@dataclass(frozen=True)
class Counted:
    """A sum over the rows of `whole`, divided by the length of one row less one: `array`."""

    frame: Frame
    at: ast.expr | ast.stmt
    array: ast.expr
    lane: Lane
    total: Node
    whole: Node


def counted_by_a_lane(facts: SourceFacts) -> Iterator[Counted]:
    """Quotients by the number of the others, which is taken from one of them.

    `candidates @ anchor` has a score for each candidate, and the mean over all but one is their sum
    by `len(candidates) - 1`. Where `anchor` is one lane of as many rows as there are candidates,
    its own length is that of a row. A sum that is only scaled by a length has no "less one".
    """
    for node in nodes_by(facts, ("/",)):
        frame, written = node.frame, node.syntax
        if frame is None or frame.region is None or node.shape != ():
            continue
        divisor = _all_but_one(frame, written.right) if isinstance(written, ast.BinOp) else None
        found = length_written(frame, divisor) if divisor is not None else None
        above = node.operands[0] if node.operands else None
        lane = lanes_in(frame)(found[1]) if found is not None else None
        if found is None or lane is None or not isinstance(above, Data):
            continue
        row = lane.array.node.shape
        if not isinstance(row, tuple) or not row:
            continue
        for total in sums_of_other(above.node, row[0]):
            whole = _rows_like(total.inputs[0], row, lane.region)
            if whole is not None:
                yield Counted(frame, *found, lane, total, whole)
                break


def _all_but_one(frame: Frame, written: ast.expr) -> ast.expr | None:
    """`n` in `n - 1`, also if that has a name, or is kept from being zero."""
    match written:
        case ast.BinOp(left=count, op=ast.Sub(), right=ast.Constant(value=1)):
            return count
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, _]):
            return _all_but_one(frame, first) if name in _BOUNDS else None
        case ast.Name():
            stored = stored_once(frame, written)
            return _all_but_one(frame, stored.value) if stored is not None else None
        case _:
            return None


def _rows_like(summed: Node, row: Known, region: Region) -> Node | None:
    """What a sum over one axis goes through: all rows, as many as there are lanes, and like one.

    Not what a lane is taken from: of that, it has no more than its own row.
    """
    size, shape = region.details.get("size"), summed.shape
    if not isinstance(shape, tuple) or len(shape) != 1 or not same(shape[0], size):
        return None
    pending, seen = [summed], {summed}
    while pending and len(seen) < _MOST_STEPS:
        node = pending.pop()
        rows = node.shape
        if region not in node.varies:
            is_longer = isinstance(rows, tuple) and len(rows) == len(row) + 1
            if is_longer and same(rows[0], size) and rows[1:] == row:
                return node
        elif node.operation != "lane":
            new = [it for it in node.inputs if it not in seen]
            seen.update(new)
            pending.extend(new)
    return None
