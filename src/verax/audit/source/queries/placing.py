"""Which operation put an axis where it meets another: the one to mend."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING

from ...finding import Place
from ...placing import MAPS, TAKES, TURNS, Move, the_one_of, to_blame
from ..axes import names_of
from ..events import Fact
from ..frame import Region
from ..graph import Node
from ..library.options import constants
from ..operations import PICKS, REDUCTIONS, TRANSPOSES, bare
from ..shapes.names import name_of
from ..shapes.shape import rank
from ..values import Constant, Data, Transformed, nodes_of
from .given_whole import whole_in_clash_at
from .indices import index_parts, is_new_axis
from .layouts import handed_turned_at
from .nodes import is_flag, stacked_axis, stacked_over
from .renaming import is_contraction, mended_by, mended_by_swapping, with_axis
from .written import handed_number_at

if TYPE_CHECKING:
    from ..facts import SourceFacts

_TAKING = REDUCTIONS | bare(PICKS) | {"item"}
_MOVES = bare(TRANSPOSES) | {"rearrange"}
_RESHAPES = frozenset(("reshape", "expand_dims"))
_MOST = 200


@dataclass(frozen=True)
class _Move(Move):
    """What decided where an axis lies, as the operation that made an array."""

    node: Node = field(kw_only=True)


def placed_at(facts: SourceFacts, clash: Fact) -> Place | None:
    """Where one of two axes was put to where it meets the other; `None` if that is unclear.

    That is the last operation on the way of either that moved it, or that took away the axis which
    is expected there, if another choice would have made them fit and all that fits besides.
    """
    one, other = clash.data["names"]
    # What is joined comes in a list.
    arrays = [node for it in clash.data["operands"] for node in nodes_of(it)]
    first, second = with_axis(arrays, one), with_axis(reversed(arrays), other)
    if first is None or second is None:
        return None
    if (call := _swapped_at(facts, clash)) is not None:
        return call
    moves: list[Move] = []
    for own, name, expected, beside in ((first, one, other, second), (second, other, one, first)):
        if (whole := whole_in_clash_at(facts, clash, own, name, beside)) is not None:
            return whole
        move = _move_to_mend(facts, clash, own, name, expected, beside)
        if move is not None:
            # What lacks axes is aligned where they meet, unless it is a statistic of the other.
            is_statistic = beside in move.node.inputs and not is_flag(own)
            lacks = not is_statistic and _is_repeated(clash, own, beside)
            needless = move.widens and _fits(move.node.inputs[0], beside)
            moves.append(replace(move, lacks=lacks, needless=needless))
    found = to_blame(moves, clash.place)
    is_map = found != [] and all(it.weight == MAPS and not it.elsewhere for it in found)
    nested = _nested_at(arrays, one, other) if is_map else None
    blamed = the_one_of(found)
    if nested is None and blamed is None:
        return handed_turned_at(clash, first, second)
    return nested or (None if blamed is None else blamed.place)


def _swapped_at(facts: SourceFacts, clash: Fact) -> Place | None:
    """Where a call has two arguments in the wrong order: all that clashes in it would fit."""
    for frame in clash.frame.callers():
        # What a file gives as an example is no call that anybody wrote.
        if frame.caller is None or not isinstance(frame.called_at, ast.Call):
            continue
        given = [it.node for it in frame.given.values() if isinstance(it, Data)]
        for first, second in combinations(given, 2):
            one, two = names_of(first.shape), names_of(second.shape)
            if len(one) != len(two) or {*clash.data["names"]} != {*one} ^ {*two}:
                continue
            mended = mended_by_swapping(facts, frame, first, second)
            # One clash alone is mended by either argument, and says nothing of the other.
            if clash in mended and len({it.place for it in mended}) > 1:
                return frame.caller.place(frame.called_at)
    return None


def _nested_at(arrays: list[Node], one: str, other: str) -> Place | None:
    """Where nested maps give an array that has both axes: in the other order they would fit."""
    for node in arrays:
        region = stacked_over(node) if {one, other} <= set(names_of(node.shape)) else None
        inner = stacked_over(node.inputs[0]) if region is not None else None
        if region is not None and inner is not None and region.kind == inner.kind == "vmap":
            return region.place
    return None


def _fits(own: Node, beside: Node) -> bool:
    """Whether an array lines up with another by itself, by the names of their axes."""
    pairs = zip(reversed(names_of(own.shape)), reversed(names_of(beside.shape)), strict=False)
    return all(one == other for one, other in pairs)


def _is_repeated(clash: Fact, own: Node, beside: Node) -> bool:
    """Whether an array has fewer axes than the one that it is combined with."""
    if is_contraction(clash):
        return False
    count, most = rank(own.shape), rank(beside.shape)
    return count is None or most is None or count < most


def _move_to_mend(
    facts: SourceFacts, clash: Fact, own: Node, name: str, other: str, beside: Node
) -> _Move | None:
    """The operation on the way of an axis that would mend most, of such the last one."""
    best, most, is_widened = None, 0, False
    for move in _moves(own, name, other):
        mended: Collection[Fact] = ()
        if _knows(move, name, other):
            mended = mended_by(facts, move.node, name, other)
        elif move.widens and not is_widened and name in names_of(beside.shape):
            mended = (clash,)  # What is given axes can be given them elsewhere.
        is_widened = is_widened or move.widens
        if clash in mended and len(mended) > most:
            best, most = move, len(mended)
    return best


def _knows(move: _Move, name: str, other: str) -> bool:
    """Whether an operation has both axes at hand, of which it put one in the other's place.

    A map has those of all its arguments.
    """
    around = (move.node, *move.node.inputs)
    return move.weight == MAPS or {name, other} <= {
        it for at in around for it in names_of(at.shape)
    }


def _moves(node: Node | None, name: str, other: str) -> Iterator[_Move]:
    """The operations that decided where an axis lies, in place of another, the last one first."""
    has_both = node is not None and other in names_of(node.shape)
    for _ in range(_MOST):
        if node is None or _is_stacked(node, other):
            return
        move = _move(node, name, other)
        # A map takes nothing away that it gives back.
        if move is not None and not (move.entered and has_both):
            yield move
        node = with_axis(node.inputs, name)


def _is_stacked(node: Node, other: str) -> bool:
    """Whether a scan has put its turns first, which are expected elsewhere: nobody's choice."""
    region = stacked_over(node)
    return region is not None and region.kind == "scan" and other in names_of(node.shape)[:1]


def _move(node: Node, name: str, other: str) -> _Move | None:
    """What an operation is to an axis of what it gives, if it decided where that lies."""
    source = node.inputs[0] if node.inputs else None
    if source is None or node.place is None:
        return None
    operation = node.operation.rpartition(".")[2]
    took = other in names_of(source.shape) and other not in names_of(node.shape)
    if operation in ("lane", "slice", "element"):
        place = _entered_at(node, source) or node.place
        return _Move(place, entered=True, node=node) if took else None
    if operation == "stack":
        return _map_of(node, name, other)
    widens = _gives_another_rank(node, source, operation)
    is_move = operation in _MOVES or widens or _turns(node, name, other)
    # One element of an axis is left by what takes it: `x[:, -1]`.
    took = took and (operation in _TAKING or len(node.inputs) == 1) and _has_fewer(node, source)
    if not is_move and not took:
        return None
    handed = (handed_number_at(it, node.frame) for it in node.operands[1:])
    weight = TAKES if operation in _TAKING else TURNS
    return _Move(next(filter(None, handed), node.place), weight, widens=widens, node=node)


def _map_of(node: Node, name: str, other: str) -> _Move | None:
    """The map whose lanes are an axis, or one that has put the expected one elsewhere."""
    region = stacked_over(node)
    if region is None or region.kind not in ("vmap", "pmap"):
        return None
    options = region.details["transformed"].options
    place = map_at(region, "out_axes" if "out_axes" in options else "in_axes")
    lanes, taken = (
        name_of(region.details.get("size")),
        constants(options.get("in_axes", Constant(0))),
    )
    elsewhere = bool(taken) and stacked_axis(node) not in taken
    if place is None or not (lanes == name or (lanes == other and elsewhere)):
        return None
    return _Move(place, MAPS, elsewhere=elsewhere, node=node)


def _entered_at(node: Node, source: Node) -> Place | None:
    """Where the map stands whose lanes get a share of a value; `None` for a scan."""
    region = next(iter(node.varies - source.varies), None)
    if region is None or region.kind not in ("vmap", "pmap"):
        return None
    return map_at(region, "in_axes")


def map_at(region: Region, option: str) -> Place | None:
    """Where a map stands, or where is said along which axis a helper is to map."""
    transformed: Transformed = region.details["transformed"]
    written = handed_number_at(transformed.options.get(option), transformed.frame)
    return written or region.place


def _turns(node: Node, name: str, other: str) -> bool:
    """Whether a product says in which order it gives two axes."""
    is_einsum = node.operation.rpartition(".")[2] == "einsum"
    return is_einsum and {name, other} <= set(names_of(node.shape))


def _has_fewer(node: Node, source: Node) -> bool:
    count, before = rank(node.shape), rank(source.shape)
    return count is None or before is None or count < before


def _gives_another_rank(node: Node, source: Node, operation: str) -> bool:
    if operation == "item":
        return any(map(is_new_axis, index_parts(node.syntax)))
    return operation in _RESHAPES and rank(node.shape) != rank(source.shape)
