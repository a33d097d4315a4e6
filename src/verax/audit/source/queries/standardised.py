"""Values from which their mean is taken, divided by their deviation."""

from __future__ import annotations

from collections.abc import Iterator

from ..graph import Node
from ..shapes.shape import least_rank
from .nodes import names_axis

_DEVIATIONS = frozenset(("std", "var"))
_KEPT = frozenset("+ sqrt rsqrt maximum clip ** where astype".split())


def centred_by_all(nodes: list[Node]) -> Iterator[tuple[Node, Node, Node]]:
    """Divisions of `x - x.mean()` by `x.std(axis=…)`: the division, the value, the mean."""
    for node in nodes:
        if node.operation not in ("/", "*") or len(node.inputs) != 2:
            continue
        centred, scale = node.inputs
        if centred.operation != "-" or len(centred.inputs) != 2:
            continue
        of, mean = centred.inputs
        deviation = _deviation(scale)
        if _name(mean) != "mean" or deviation is None or not mean.inputs or not deviation.inputs:
            continue
        if mean.inputs[0] is not of or deviation.inputs[0] is not of or least_rank(of.shape) < 2:
            continue
        if names_axis(mean) is False and names_axis(deviation):
            yield node, of, mean


def _name(node: Node) -> str:
    return node.operation.rpartition(".")[2]


def _deviation(node: Node) -> Node | None:
    """The deviation that a divisor is, kept away from zero perhaps."""
    for _ in range(6):
        if _name(node) in _DEVIATIONS:
            return node
        if _name(node) not in _KEPT or len(node.inputs) != 1:
            return None
        node = node.inputs[0]
    return None
