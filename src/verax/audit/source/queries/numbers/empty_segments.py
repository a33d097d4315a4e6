"""Divisions by how many elements each segment has, of which some may have none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ...graph import Node, sources
from ...operations import BROADCASTS, GUARDS, ONES, SUMS, VIEWS, bare
from ...shapes.shape import rank
from ...values import Constant, Data
from ..indices import index_parts, is_new_axis, is_whole
from ..nodes import nodes_by, users_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_SHAPED = bare(VIEWS | BROADCASTS)
_RANGE = "jax.numpy.arange"
_COUNTS = frozenset(("jax.numpy.bincount",))
_GATHERS = frozenset(("item", "element", "jax.numpy.take", "ndarray.take"))
# Segments by how long each is, of which none is there without an element.
_BY_SIZES = frozenset(("jax.numpy.repeat", "ndarray.repeat"))


def by_empty_segments(facts: SourceFacts) -> Iterator[tuple[Node, Node]]:
    """Divisions by such a count as it is, each with the count."""
    users: dict[Node, list[Node]] | None = None
    for node in nodes_by(facts, ("/",)):
        if len(node.operands) != 2:
            continue
        above, divisor = node.operands
        count = _behind(divisor.node, _is_count) if isinstance(divisor, Data) else None
        if count is None and isinstance(above, Data) and isinstance(divisor, Data):
            count = _weights(above.node, divisor.node)
        ids = _segments(count) if count is not None else None
        if count is None or (ids is not None and without_views(ids).operation in _BY_SIZES):
            continue
        users = users if users is not None else users_of(facts)
        own = users.get(node, ())
        if any(it.operation.rpartition(".")[2] in GUARDS for it in own):
            continue
        if not own or ids is None or not all(_is_read_at(it, node, ids) for it in own):
            yield node, count


def _is_read_at(node: Node, means: Node, ids: Node) -> bool:
    """Whether each element is given what there is for its own segment, which holds that element."""
    return node.operation in _GATHERS and node.inputs[:2] == (means, ids)


def without_views(node: Node) -> Node:
    """An array before it was given another shape."""
    return _behind(node, lambda it: not _is_view(it)) or node


def _is_view(node: Node) -> bool:
    name = node.operation.rpartition(".")[2]
    parts = index_parts(node.syntax) if node.operation == "item" else []
    is_indexed = bool(parts) and all(is_new_axis(it) or is_whole(it) for it in parts)
    return bool(node.inputs) and (name in _SHAPED or is_indexed)


def _behind(node: Node, accept: Callable[[Node], bool]) -> Node | None:
    """What is accepted of a value, be it there in another shape."""
    for _ in range(8):
        if accept(node):
            return node
        if not _is_view(node):
            return None
        node = node.inputs[0]
    return None


def _weights(above: Node, divisor: Node) -> Node | None:
    """The sum of weights that makes a quotient of two segment sums a mean of each segment."""
    total, weights = _behind(above, _is_sum), _behind(divisor, _is_sum)
    if total is None or weights is None:
        return None
    one, other = _segments(total), _segments(weights)
    return weights if one is not None and one is other else None


def _segments(node: Node) -> Node | None:
    """Which segment each element belongs to."""
    at = 0 if node.operation in _COUNTS else 1
    given = node.operands[at] if len(node.operands) > at else None
    return given.node if isinstance(given, Data) else None


def _is_sum(node: Node) -> bool:
    return node.operation == "jax.ops.segment_sum"


def _is_count(node: Node) -> bool:
    if node.operation in _COUNTS or _is_sum_of_classes(node):
        return True
    if node.operation != "jax.ops.segment_sum" or not node.operands:
        return False
    summed = node.operands[0]
    if isinstance(summed, Constant):
        return summed.value == 1
    return isinstance(summed, Data) and summed.node.operation in ONES


def _is_sum_of_classes(node: Node) -> bool:
    """`jax.nn.one_hot(labels, number).sum(axis=0)`, where the labels are data."""
    first = node.operands[0] if node.operation in SUMS and node.operands else None
    along = node.operands[1] if len(node.operands) > 1 else None
    axis = along.value if isinstance(along, Constant) else None
    if not isinstance(first, Data) or type(axis) is not int:
        return False
    vectors = first.node
    while vectors.operation == "ndarray.astype" and vectors.inputs:
        vectors = vectors.inputs[0]
    if not _is_one_hot(vectors):
        return False
    axes = rank(vectors.shape)
    return axis < -1 or (axes is not None and 0 <= axis < axes - 1)


def _is_one_hot(node: Node) -> bool:
    """Whether the last axis is one of classes, of which the data say which is there."""
    if node.operation == "jax.nn.one_hot":
        is_last = len(node.operands) == 2
    else:
        compared = node.inputs if node.operation == "==" else ()
        is_last = any(it.operation == _RANGE and rank(it.shape) == 1 for it in compared)
    labels = [it for it in node.inputs if it.operation != _RANGE]
    return is_last and len(labels) == 1 and all(it.operation != _RANGE for it in sources(labels))
