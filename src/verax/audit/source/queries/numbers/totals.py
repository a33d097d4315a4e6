"""Sums over everything that are added to sums over less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...graph import Node
from ...shapes.dims import same
from ..nodes import all_nodes, names_axis, without_scale

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What stands for its inputs in a sum over the turns of a loop, or on ways of which one is taken.
_SAME = frozenset("last join carry turn".split())


def totals_among_elements(facts: SourceFacts) -> Iterator[tuple[Node, Node, Node]]:
    """A total, the sum with an axis that it is added to, and the reduction over that axis."""
    for outer in all_nodes(facts):
        if outer.operation.rpartition(".")[2] not in ("mean", "sum") or outer.shape != ():
            continue
        if len(outer.inputs) != 1 or not _is_long(outer.inputs[0].shape):
            continue
        parts = _parts(outer.inputs[0])
        elements = [it for it in parts if _is_sum(it) and _is_long(it.shape)]
        totals = [it for it in parts if _is_sum(it) and it.shape == ()]
        for total in totals if elements else ():
            if _loses(total, elements[0]):
                yield total, elements[0], outer
                break


def _parts(node: Node) -> list[Node]:
    """What is added up to a value, each part without the numbers that multiply it."""
    found: list[Node] = []
    pending, seen = [node], {node}
    while pending and len(seen) < 60:
        current = without_scale(pending.pop())
        if current.operation in ("+", "-") or current.operation in _SAME:
            new = [it for it in current.inputs if it not in seen]
            seen.update(new)
            pending.extend(new)
        else:
            found.append(current)
    return found


def _is_sum(node: Node) -> bool:
    return node.operation.rpartition(".")[2] == "sum" and len(node.inputs) == 1


def _is_long(shape: object) -> bool:
    return isinstance(shape, tuple) and len(shape) == 1 and shape[0] != 1


def _loses(total: Node, element: Node) -> bool:
    """Whether a total goes over an axis that its sibling keeps."""
    summed = total.inputs[0].shape
    if names_axis(total) is not False or not isinstance(summed, tuple) or len(summed) < 2:
        return False
    return bool(same(summed[0], element.shape[0]))
