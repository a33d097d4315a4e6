"""First carries, made with a shape of their own, that the first turn of a loop cannot use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Fact, Loop
from ...graph import Node
from ...operations import FILLED
from ...remember import remembered
from ...values import Data, leaves
from ..arrays import are_declared, origin
from .carries import is_example
from .scanned_rows import scans_over_rows

if TYPE_CHECKING:
    from ...facts import SourceFacts


@remembered
def clashing_starts(facts: SourceFacts) -> dict[Node, tuple[Loop, Data, Fact]]:
    """Parts of carries that fail to meet what does not come from them, with the loop and where.

    What the others are made from was given; the start is made to fit. A scan along a wrong axis is
    no fault of its carry.
    """
    clashes = dict(_clashes(facts))
    if not clashes:
        return {}
    others = {loop for loop, _, _ in scans_over_rows(facts)}
    return {
        part.node: (loop, part, clashes[part.node])
        for loop in facts.events(Loop)
        if loop.carry_in is not None and loop not in others
        for part in leaves(loop.carry_in)
        if part.node in clashes and not is_example(origin(part.node), loop)
    }


def _clashes(facts: SourceFacts) -> Iterator[tuple[Node, Fact]]:
    for fact in facts.events(Fact):
        if fact.kind != "mismatch" or are_declared(fact.data["operands"]):
            continue
        nodes = [it.node for it in fact.data["operands"] if isinstance(it, Data)]
        for node in nodes:
            carry = _carry(node)
            if carry is None or origin(carry).operation not in FILLED:
                continue
            if not any(it.depends_on(carry) for it in nodes if it is not node):
                yield carry, fact


def _carry(node: Node) -> Node | None:
    """The part of a carry that a value has its shape from."""
    while node.operation != "carry":
        same = [it for it in node.inputs if it.shape == node.shape]
        others = [it for it in node.inputs if it.shape != node.shape and it.shape != ()]
        if len(same) != 1 or others:
            return None
        node = same[0]
    return node
