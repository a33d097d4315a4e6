"""Probabilities of which some were taken out or weighed, and that add up to one again."""

from __future__ import annotations

from collections.abc import Callable

from ...graph import Node
from ...operations import MAXIMA, POWERS, RESHAPES, SUMS
from ...values import Constant, Data
from ..indices import index_parts, is_new_axis, is_whole
from .meaning import first_behind, is_softmax

_DEEP = 6


def softmax_behind(
    node: Node, also: Callable[[Node], bool] | None = None, depth: int = 0
) -> Node | None:
    """The softmax that a value comes from, if it is a distribution still."""
    found = first_behind(node, lambda it: is_softmax(it) or _is_share(it), also, True)
    if found is None or is_softmax(found) or depth > _DEEP:
        return found if found is not None and is_softmax(found) else None
    # By what they are weighed does not matter, as long as they add up to one.
    behind = (softmax_behind(it, also, depth + 1) for it in _factors(found.inputs[0]))
    return next((it for it in behind if it is not None), None)


def _is_share(node: Node) -> bool:
    """Whether it is something over its own sum: `kept / kept.sum()`."""
    if node.operation != "/" or len(node.inputs) != 2:
        return False
    of, total = node.inputs
    total = _unguarded(total)
    return total.operation in SUMS and total.inputs[:1] == (of,)


def _unguarded(node: Node) -> Node:
    """A sum before it was kept from zero, or got the axis back that it was over."""
    for _ in range(_DEEP):
        is_guarded = node.operation == "+" or node.operation in MAXIMA
        has_number = any(isinstance(it, Constant) for it in node.operands)
        is_viewed = node.operation in RESHAPES or _is_new_axis(node)
        if not node.inputs or not (is_viewed or (is_guarded and has_number)):
            break
        node = node.inputs[0]
    return node


def _is_new_axis(node: Node) -> bool:
    """`total[:, None]`, of which nothing is left out."""
    parts = index_parts(node.syntax) if node.operation == "item" else []
    return bool(parts) and all(is_new_axis(it) or is_whole(it) for it in parts)


def _factors(node: Node) -> list[Node]:
    """What is multiplied with each other, or raised to a power."""
    if node.operation in POWERS and node.operands:
        first = node.operands[0]
        return _factors(first.node) if isinstance(first, Data) else []
    if node.operation != "*":
        return [node]
    return [one for it in node.operands if isinstance(it, Data) for one in _factors(it.node)]
