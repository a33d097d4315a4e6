"""Sums over everything that are added to sums over less."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..graph import Node
from ..shapes.dims import same
from .nodes import all_nodes, names_axis, users_of, without_scale

if TYPE_CHECKING:
    from ..facts import SourceFacts


def totals_among_elements(facts: SourceFacts) -> Iterator[tuple[Node, Node, Node]]:
    """A total, the sum with an axis that it is added to, and the reduction over that axis."""
    nodes = all_nodes(facts)
    users: dict[Node, list[Node]] | None = None
    for node in nodes:
        if node.operation not in ("+", "-") or len(node.inputs) != 2:
            continue
        pair = [without_scale(it) for it in node.inputs]
        total = next((it for it in pair if _is_sum(it) and it.shape == ()), None)
        element = next((it for it in pair if _is_sum(it) and _is_long(it.shape)), None)
        if total is None or element is None or not _loses(total, element):
            continue
        users = users_of(nodes) if users is None else users
        for user in users.get(node, ()):
            if user.operation.rpartition(".")[2] in ("mean", "sum") and user.shape == ():
                yield total, element, user
                break


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
