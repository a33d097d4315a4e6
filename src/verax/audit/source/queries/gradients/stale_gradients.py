"""Derivatives inside of loops, at the point where the loop began instead of where it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Applied, Loop
from ...frame import Region
from ...graph import Node
from ...library.options import DERIVATIVES, argument_numbers
from ...values import Data, leaves
from ..loops.bodies import behind, paired_leaves

if TYPE_CHECKING:
    from ...facts import SourceFacts


def stale_gradients(facts: SourceFacts) -> Iterator[tuple[Applied, Loop, Data]]:
    """Derivatives with respect to what a carry starts from, that move the carry.

    Where the derivative at the carry is taken as well, their difference may be meant.
    """
    inside: dict[Region, list[tuple[Applied, set[Node]]]] = {}
    for event in facts.events(Applied):
        if event.transformed.kind in DERIVATIVES and event.frame.region is not None:
            for region in event.frame.region.chain():
                inside.setdefault(region, []).append((event, _differentiated(event)))
    for loop in facts.events(Loop) if inside else ():
        taken = inside.get(loop.region, [])
        if not taken or loop.carry_in is None:
            continue
        steps = zip(
            paired_leaves(loop.initial, loop.carry_in),
            paired_leaves(loop.carry_in, loop.carry_out),
            strict=False,
        )
        for (initial, carry), (before, after) in steps:
            if before.node is not carry.node or initial.node is carry.node:
                continue
            made_of = behind(after)
            at_carry = any(carry.node in _behind(nodes) for _, nodes in taken)
            if carry.node not in made_of or at_carry:
                continue
            stale = (event for event, nodes in taken if initial.node in nodes)
            found = next((it for it in stale if made_of & _gradients(it)), None)
            if found is not None:
                yield found, loop, initial
                break


def _behind(nodes: set[Node]) -> set[Node]:
    """What some nodes are made from, and they themselves."""
    return {it for node in nodes for it in node.ancestors()}


def _differentiated(event: Applied) -> set[Node]:
    """The data that a derivative is taken with respect to."""
    numbers = argument_numbers(event.transformed) or ()
    args = [event.args[it] for it in numbers if it < len(event.args)]
    return {leaf.node for value in args for leaf in leaves(value)}


def _gradients(event: Applied) -> set[Node]:
    return {it.node for it in leaves(event.outside) if it.node.operation == "gradient"}
