"""What becomes of a loop's carry after its last iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import Loop
from ...graph import Node
from ...values import Sequence, Value, nodes_of
from ..nodes import all_nodes
from .bodies import paired_leaves

if TYPE_CHECKING:
    from ...facts import SourceFacts


def is_used_after(facts: SourceFacts, loop: Loop, before: Node) -> bool:
    """Whether anything is made from the last value of a part of the carry, or returned as it is.

    `before` is that part as the body receives it. Where its last value is not known, it is used.
    """
    last = [
        out.node
        for initial, out in paired_leaves(loop.initial, _carry_outside(loop))
        if initial.node in before.inputs
    ]
    if len(last) != 1:
        return True
    return any(last[0] in node.inputs for node in all_nodes(facts)) or _is_returned(facts, last[0])


def _carry_outside(loop: Loop) -> Value | None:
    outside = loop.outside
    if loop.kind == "scan" and isinstance(outside, Sequence) and outside.items:
        return outside.items[0]
    return outside


def _is_returned(facts: SourceFacts, node: Node) -> bool:
    """Whether it leaves the program: what a helper returns is used, or not, by who calls it."""
    return any(
        node in nodes_of(value)
        for frame in facts.frames
        if frame.called_in is None or frame.called_in.function is None
        for _, value in frame.returns
    )
