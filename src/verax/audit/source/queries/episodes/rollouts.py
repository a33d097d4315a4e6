"""What a loop records in each turn, and to which step that belongs.

A part of a loop's carry is there twice in a turn: as it came in, which is of this step, and as it
goes out, which is of the next one. What the turns record is put together to arrays, and later on
other loops go through these: there one can still tell which of the two a value was.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Loop
from ...graph import Node
from ...operations import CASTS
from ...remember import remembered
from ..loops.bodies import paired_leaves
from ..nodes import stacked_over

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What a function or a turn gets of something is that thing, as is a number of another type.
_SHARES = CASTS | {"slice", "lane", "primal", "element"}


@dataclass(frozen=True, eq=False)
class Slot:
    """A part of a loop's carry, as it comes in and as it goes out."""

    loop: Loop
    before: Node
    after: Node


@remembered
def slots(facts: SourceFacts) -> dict[Node, Slot]:
    """The parts of carries that change, by what comes into a turn."""
    return {
        before.node: Slot(loop, before.node, after.node)
        for loop in facts.events(Loop)
        for before, after in paired_leaves(loop.carry_in, loop.carry_out)
        if before.node is not after.node
    }


def recorded(node: Node) -> Node | None:
    """What one turn of a loop has recorded, if a value is taken from the records of all turns."""
    for _ in range(12):
        region = stacked_over(node)
        if region is not None:
            node = node.inputs[0]
            if region.kind == "scan":
                return node
        elif node.operation in _SHARES and node.inputs:
            node = node.inputs[0]
        else:
            return None
    return None
