"""Scans that step over the rows of their carry, and fail where both meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Fact, Loop
from ...frame import Region
from ...shapes.dims import differ, same
from ...values import Data, leaves
from ..arrays import are_declared

if TYPE_CHECKING:
    from ...facts import SourceFacts


def scans_over_rows(facts: SourceFacts) -> Iterator[tuple[Loop, Data, Data]]:
    """Scans with an input whose first axis is as long as that of the carry, unlike its second one.

    The program fails where what is left of the input meets the carry: it came with the batch first.
    """
    failing: set[Region] = set()
    for fact in facts.events(Fact):
        region = fact.frame.region if fact.kind == "mismatch" else None
        if region is not None and not are_declared(fact.data["operands"]):
            failing.update(region.chain())
    for loop in facts.events(Loop) if failing else ():
        if loop.kind == "scan" and loop.region in failing and loop.xs is not None:
            found = _rows(loop)
            if found is not None:
                yield loop, *found


def _rows(loop: Loop) -> tuple[Data, Data] | None:
    carries = [it for it in leaves(loop.initial) if _rank(it) > 0] if loop.initial else []
    for scanned in leaves(loop.xs) if loop.xs is not None else ():
        if _rank(scanned) < 2:
            continue
        for carry in carries:
            first, (steps, rows, *_) = carry.node.shape[0], scanned.node.shape
            if first != 1 and same(first, steps) and differ(first, rows):
                return scanned, carry
    return None


def _rank(leaf: Data) -> int:
    return len(leaf.node.shape) if isinstance(leaf.node.shape, tuple) else 0
