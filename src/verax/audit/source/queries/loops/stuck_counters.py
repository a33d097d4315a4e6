"""Counters that a loop carries, reads as the number after them, and hands on as they came."""

from __future__ import annotations

from collections.abc import Iterator

from ...events import Loop
from ...graph import Node
from ...operations import FULLS, INTEGER_CASTS, ONES, ZEROS
from ...values import Constant, Data, Value
from .bodies import behind, pairs

# What makes an array of the number that it is given.
_MAKING = INTEGER_CASTS | ZEROS | ONES | FULLS | {"jax.numpy.asarray"}


def stuck_counters(loop: Loop, stale: list[Data]) -> Iterator[tuple[str, Node, Data]]:
    """Parts of a carry that stay, start at a number, and of which the body makes the next one.

    Each with the next one in words, and what that is. A number that only scales something may
    well be carried: a step's size, say. Nobody counts on from one that never moves.
    """
    if loop.returned is None or not stale:
        return
    starts = {id(inside): it for it, inside in pairs(loop.initial, loop.carry_in)}
    counters = {it.node: it for it in stale if _is_number(starts.get(id(it)))}
    for node in behind(loop.returned) if counters else ():
        if node.operation != "+" or len(node.operands) != 2:
            continue
        one = [it for it in node.operands if isinstance(it, Constant) and it.value == 1]
        counted = [counters[it] for it in node.inputs if it in counters]
        if one and counted:
            yield "the number after its counter", node, counted[0]


def _is_number(start: Value | None) -> bool:
    """Whether something is an integer that is written there."""
    if isinstance(start, Constant):
        return type(start.value) is int
    node = start.node if isinstance(start, Data) else None
    if node is None or node.operation not in _MAKING or node.shape != ():
        return False
    return "int" in str(node.dtype) and not node.inputs
