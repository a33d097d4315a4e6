"""Which operation put an axis where it meets another: the one to mend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...finding import Place
from ..axes import names_of
from ..events import Fact
from ..graph import Node
from ..shapes.names import name_of
from ..shapes.shape import rank
from ..values import nodes_of
from .indices import index_parts, is_new_axis
from .nodes import is_flag, stacked_over

_REDUCTIONS = frozenset(
    "mean var std sum prod max min median any all argmax argmin logsumexp norm nanmean nansum "
    "average quantile percentile".split()
)
_TAKING = _REDUCTIONS | {"item"}
_MOVES = frozenset("T mT transpose swapaxes moveaxis rollaxis rearrange".split())
_CONTRACTIONS = frozenset("contraction dot matmul einsum tensordot vdot inner dot_general".split())
_RESHAPES = frozenset(("reshape", "expand_dims"))
_MOST = 200


@dataclass(frozen=True)
class _Move:
    """What decided where an axis lies: it may have `entered` a map or a scan."""

    node: Node
    place: Place
    entered: bool = False

    @property
    def weight(self) -> int:
        """How much it is to blame: what maps more than what takes an axis, and that than a move."""
        name = self.node.operation.rpartition(".")[2]
        return 2 if name == "stack" else 1 if name in _TAKING else 0


def placed_at(clash: Fact) -> Place | None:
    """Where one of two axes was put to where it meets the other; `None` if that is unclear.

    That is the last operation on the way of either that moved it, or that took away the axis which
    is expected there. Where both were moved, the one in a function of its own is to blame: nobody
    sees there what it will meet.
    """
    one, other = clash.data["names"]
    # What is joined comes in a list.
    arrays = [node for it in clash.data["operands"] for node in nodes_of(it)]
    first, second = _with_axis(arrays, one), _with_axis(reversed(arrays), other)
    if first is None or second is None:
        return None
    moves = [_last_move(first, one, other), _last_move(second, other, one)]
    entered = {move.place for move in moves if move is not None and move.entered}
    if len(entered) == 1:
        return entered.pop()
    meeting = clash.place
    found: list[_Move] = []
    for move, own, beside in zip(moves, (first, second), (second, first), strict=True):
        if move is None:
            continue
        if move.place.line == meeting.line:
            return None
        # What has too few axes is aligned where they meet, unless it is a statistic of the other.
        is_statistic = beside in move.node.inputs and not is_flag(own)
        if is_statistic or not _is_repeated(clash, own, beside):
            found.append(move)
    if len(found) > 1:
        most, here = max(move.weight for move in found), meeting.function
        found = [it for it in found if it.weight == most and it.place.function != here]
    nested = _nested_at(arrays, one, other) if len(found) > 1 else None
    if nested is not None:
        return nested
    return found[0].place if len({move.place.function for move in found}) == 1 else None


def _nested_at(arrays: list[Node], one: str, other: str) -> Place | None:
    """Where nested maps give an array that has both axes: in the other order they would fit."""
    for node in arrays:
        region = stacked_over(node) if {one, other} <= set(names_of(node.shape)) else None
        inner = stacked_over(node.inputs[0]) if region is not None else None
        if region is not None and inner is not None and region.kind == inner.kind == "vmap":
            return region.place
    return None


def _is_repeated(clash: Fact, own: Node, beside: Node) -> bool:
    """Whether an array has fewer axes than the one that it is combined with."""
    if clash.data["where"].rpartition(".")[2] in _CONTRACTIONS:
        return False
    count, most = rank(own.shape), rank(beside.shape)
    return count is None or most is None or count < most


def _with_axis(nodes: Iterable[Node], name: str) -> Node | None:
    return next((node for node in nodes if name in names_of(node.shape)), None)


def _last_move(node: Node | None, name: str, other: str) -> _Move | None:
    """The last operation that decided where an axis lies, in place of another."""
    for _ in range(_MOST):
        if node is None:
            return None
        move = _move(node, name, other)
        if move is not None:
            return move
        node = _with_axis(node.inputs, name)
    return None


def _move(node: Node, name: str, other: str) -> _Move | None:
    """What an operation is to an axis of what it gives, if it decided where that lies."""
    source = node.inputs[0] if node.inputs else None
    if source is None or node.place is None:
        return None
    operation = node.operation.rpartition(".")[2]
    took = other in names_of(source.shape) and other not in names_of(node.shape)
    if operation in ("lane", "slice", "element"):
        return _Move(node, _entered_at(node, source) or node.place, entered=True) if took else None
    if operation == "stack":
        place = _mapped_at(node, name)
        return _Move(node, place) if place is not None else None
    is_move = operation in _MOVES or _gives_another_rank(node, source, operation)
    # One element of an axis is left by what takes it: `x[:, -1]`.
    took = took and (operation in _TAKING or len(node.inputs) == 1)
    return _Move(node, node.place) if is_move or took else None


def _mapped_at(node: Node, name: str) -> Place | None:
    """Where the map stands whose lanes are the axis with a name."""
    region = stacked_over(node)
    if region is None or region.kind not in ("vmap", "pmap"):
        return None
    return region.place if name_of(region.details.get("size")) == name else None


def _entered_at(node: Node, source: Node) -> Place | None:
    """Where the map stands whose lanes get a share of a value; `None` for a scan."""
    region = next(iter(node.varies - source.varies), None)
    return region.place if region is not None and region.kind in ("vmap", "pmap") else None


def _gives_another_rank(node: Node, source: Node, operation: str) -> bool:
    if operation == "item":
        return any(map(is_new_axis, index_parts(node.syntax)))
    return operation in _RESHAPES and rank(node.shape) != rank(source.shape)
