"""Values from which their mean is taken, divided by their deviation."""

from __future__ import annotations

from collections.abc import Iterator

from ...graph import Node
from ...operations import CASTS, DEVIATIONS, TRANSPOSES, VIEWS, bare
from ...shapes.shape import least_rank
from ..nodes import names_axis

_DEVIATIONS = bare(DEVIATIONS)
# What these give has the same elements, or some of them.
_SELECTING = bare(VIEWS | TRANSPOSES) | frozenset(
    "item where stop_gradient concatenate stack clip nan_to_num take compress "
    "join turn carry lane slice primal last field all_gather select dynamic_slice".split()
)
_ARITHMETIC = frozenset("+ - * / -x".split())
_KEPT = bare(CASTS) | frozenset("+ sqrt rsqrt maximum clip ** where".split())


def centred_by_all(nodes: list[Node]) -> Iterator[tuple[Node, Node, Node]]:
    """Divisions of `x - x.mean()` by `x.std(axis=…)`: the division, the value, the mean."""
    for node, of, mean, deviation in _standardised(nodes):
        if deviation.inputs[0] is not of or least_rank(of.shape) < 2:
            continue
        if names_axis(mean) is False and names_axis(deviation):
            yield node, of, mean


def scaled_by_another(nodes: list[Node]) -> Iterator[tuple[Node, Node, Node]]:
    """Divisions of `x - x.mean()` by `y.std()`: the division, the value, what is measured."""
    for node, of, _, deviation in _standardised(nodes):
        measured = deviation.inputs[0]
        if _selected_from(of).isdisjoint(_selected_from(measured)):
            yield node, of, measured


def _standardised(nodes: list[Node]) -> Iterator[tuple[Node, Node, Node, Node]]:
    """Divisions of `x - x.mean()` by a deviation: the division, the value, the mean, the last."""
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
        if mean.inputs[0] is of and deviation.inputs[0] is not centred:
            yield node, of, mean, deviation


def _selected_from(node: Node) -> set[Node]:
    """A value and those whose elements it holds, or some of them, shifted or scaled perhaps."""
    found, pending = {node}, [node]
    while pending and len(found) < 50:
        it = pending.pop()
        is_shifted = it.operation in _ARITHMETIC and len(it.inputs) == 1
        for one in it.inputs if is_shifted or _name(it) in _SELECTING else ():
            if one not in found:
                found.add(one)
                pending.append(one)
    return found


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
