"""Loops of a fixed length, of whose results a share is taken of all that their counters index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...events import Loop
from ...graph import Node
from ...operations import ARITHMETIC, PARTS, REDUCTIONS, VIEWS
from ...shapes import Size
from ...shapes.names import without_name
from ...values import Constant, Data, nodes_of
from ..nodes import nodes_by
from .accesses import Access, accesses
from .counters import Bound, bounds, sizes_of, turn_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_KEPT = ARITHMETIC | PARTS | VIEWS
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class CutShort:
    """A counter that ends elsewhere than the axis that it indexes, and the quotient by its size."""

    access: Access
    axis: int
    bound: Bound
    size: int
    quotient: Node


def cut_short(facts: SourceFacts) -> Iterator[CutShort]:
    """Counters that index an axis by whose size the results of the loop are divided.

    Some turns along a long table are as good as all; a share of all its elements is one of as many
    turns. A size that merely might be another one says nothing: there has to be an example.
    """
    found = list(_fixed(facts))
    for access, axis, bound, own in found:
        others = {_number(it[3]) for it in found if it[0].event.syntax is access.event.syntax}
        sizes = {it for it in others if it is not None}
        if not isinstance(own, Size) or not sizes or bound.limit in sizes or bound.loop is None:
            continue
        for quotient in _divided_by(facts, own):
            above = quotient.operands[0]
            if isinstance(above, Data) and _comes_out(above.node, bound.loop):
                yield CutShort(access, axis, bound, min(sizes), quotient)


def _fixed(facts: SourceFacts) -> Iterator[tuple[Access, int, Bound, Any]]:
    """What the counter of a loop with a known number of turns indexes, and how long that is."""
    known = bounds(facts)
    for access in accesses(facts) if known else ():
        sizes = sizes_of(access.array.node)
        for axis, index in access.positions:
            bound = turn_of(index, known)
            if bound is not None and type(bound.limit) is int and axis < len(sizes):
                yield access, axis, bound, sizes[axis]


def _number(size: Any) -> int | None:
    number = without_name(size)
    return number if type(number) is int else None


def _divided_by(facts: SourceFacts, size: Size) -> Iterator[Node]:
    for node in nodes_by(facts, ("/",)):
        below = node.operands[1] if len(node.operands) == 2 else None
        if isinstance(below, Constant) and below.value == size:
            yield node


def _comes_out(node: Node, loop: Loop) -> bool:
    """Whether a value is made of a loop's results and of nothing else."""
    results = set(nodes_of(loop.outside)) if loop.outside is not None else set[Node]()
    pending, seen = [node], {node}
    while pending and len(seen) < _MOST_STEPS:
        current = pending.pop()
        if current in results:
            continue
        is_kept = current.operation in _KEPT or current.operation.rpartition(".")[2] in REDUCTIONS
        if not is_kept or not current.inputs:
            return False
        pending += [it for it in current.inputs if it not in seen]
        seen.update(current.inputs)
    return not pending
