"""Functions that run on one lane of a map, and what their parameters are of."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....words import is_batch, is_feature, is_sequence, words_of
from ...axes import names_of
from ...frame import Frame, Region
from ...graph import Node
from ...operations import ARITHMETIC, CONTRACTIONS
from ...remember import walked
from ...shapes import Dim
from ...shapes.dims import same
from ...shapes.names import name_of, name_of_most
from ...text import text_of
from ...values import Data, leaves, nodes_of
from ..indices import index_parts, is_whole
from ..nodes import nodes_by
from ..numbers.meaning import first_behind
from ..structures.structure import held

if TYPE_CHECKING:
    from ...facts import SourceFacts

_BATCH = {"batch", "minibatch"}
_SAME = frozenset(("primal", "turn"))


@dataclass(frozen=True)
class Lane:
    """A value whose leading axis a map has taken away.

    `lost_batch` says that this axis was the batch, by its name, or that what is left has no room
    for one; that is certain if not only a caller's name for the whole says so. `is_single` says
    that none of its parts can be a batch: those of an example of what a caller calls a batch are
    numbers and vectors, or they have several lengths. `axis` is the name of what was taken away.
    """

    region: Region
    array: Data
    lost_batch: bool
    is_array: bool
    axis: str
    is_certain: bool
    is_single: bool = False


def runs_inside_maps(facts: SourceFacts) -> Iterator[Frame]:
    """The runs of functions inside of `vmap` and `pmap`, at any depth."""
    for frame in facts.frames:
        region = frame.region
        if region is not None and any(it.kind in ("vmap", "pmap") for it in region.chain()):
            yield frame


def lanes_in(frame: Frame) -> Callable[[ast.expr], Lane | None]:
    """What one lane has under a name of a run, or in a field of what is there."""
    stores = Counter(
        it.id
        for it in (walked(frame.function) if frame.function is not None else ())
        if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)
    )
    no_room = _has_no_room(_lanes_given(frame))

    def find(written: ast.expr) -> Lane | None:
        written = _walked_tree(written)
        root = written
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        name = root.id if isinstance(root, ast.Name) else ""
        # What is assigned again is something else from then on.
        if stores[name] + (name in frame.given) > 1:
            return None
        value = held(frame, written)
        found = [_lane_of(frame, name, leaf, no_room) for leaf in leaves(value)] if value else []
        return found[0] if found and all(it is not None for it in found) else None

    return find


def _walked_tree(written: ast.expr) -> ast.expr:
    """`tree` in `jax.tree.leaves(tree)[0]`, any leaf of which is asked for what all have."""
    match written:
        case ast.Subscript(
            value=ast.Call(func=ast.Attribute(attr="leaves" | "tree_leaves"), args=[tree])
        ):
            return tree
        case _:
            return written


def lane_of(frame: Frame, value: Data) -> Lane | None:
    """What one lane has in a run, whatever it is called there."""
    return _lane_of(frame, "", value, _has_no_room(_lanes_given(frame)))


def _lane_of(frame: Frame, name: str, value: Data, no_room: bool) -> Lane | None:
    lane = _lane(value.node)
    if lane is None:
        return _made_from_lanes(frame, value)
    taken = _taken_from(lane)
    if taken is None:
        return None
    names = names_of(lane.inputs[0].shape)
    axis = names[0] if names else ""
    # A seed or an agent may have a batch of its own, unless the parameter is called after it.
    is_plural = bool(axis) and name == f"{axis}s"
    by_name = is_plural or (is_batch(axis) and not any(map(is_batch, names[1:2])))
    certain = by_name if any(names) else no_room
    is_called = not any(names) and _is_called_batch(frame, lane.inputs[0])
    lost = certain or is_called
    has_lengths = no_room and len(_vectors(_lanes_given(frame))) > 1
    is_single = has_lengths or (is_called and _is_flat(lane)) or (by_name and _is_flat(lane))
    return Lane(taken, value, lost, value.is_array, axis, certain, is_single)


def _is_flat(node: Node) -> bool:
    return isinstance(node.shape, tuple) and len(node.shape) < 2


def _made_from_lanes(frame: Frame, value: Data) -> Lane | None:
    """What a lane has made, if that cannot have the axis of the map: by its names, or its rank."""
    node = value.node
    for region, axis in named_maps(node):
        first = names_of(node.shape)[0]
        if first and is_batch(axis) and not is_batch(first):
            return Lane(region, value, True, value.is_array, axis, True)
    around = list(frame.region.chain()) if frame.region is not None else []
    region = next((it for it in around if it.kind in ("vmap", "pmap")), None)
    if region is None or region not in node.varies or any(names_of(node.shape)):
        return None
    is_vector = isinstance(node.shape, tuple) and len(node.shape) == 1
    inside = [it for it in frame.callers() if it.region is not None and region in it.region.chain()]
    # Who is mapped is given lanes only, those that it calls also what it has made from them.
    given = next((lanes for it in reversed(inside) if (lanes := _lanes_given(it))), [])
    if is_vector and _has_no_room(given) and not _may_be_lanes(node, region):
        return Lane(region, value, True, value.is_array, "", True)
    return None


def _lanes_given(frame: Frame) -> list[Node]:
    lanes = [_lane(leaf.node) for it in frame.given.values() for leaf in leaves(it)]
    return [it for it in lanes if it is not None]


def _may_be_lanes(node: Node, region: Region) -> bool:
    """Whether a vector is as long as there are lanes: what one of them has to do with each."""
    size = region.details.get("size")
    return isinstance(node.shape, tuple) and same(node.shape[0], size) is not False


def _lane(node: Node) -> Node | None:
    """The lane that a value is, under derivatives and loops."""
    while node.operation in _SAME and node.inputs:
        node = node.inputs[0]
    return node if node.operation == "lane" and node.inputs else None


def _taken_from(lane: Node) -> Region | None:
    """The map that takes away axis 0."""
    parts: dict[Any, Node] = lane.inputs[0].children or {}
    for (_, key), child in parts.items():
        if child is lane:
            region, number = key
            return region if number == 0 else None
    return None


def _is_called_batch(frame: Frame, node: Node) -> bool:
    """Whether a caller has the whole under a name that says what its elements are."""
    return any(
        _BATCH & set(words_of(name)) and node in nodes_of(value)
        for caller in frame.callers()
        for name, value in caller.given.items()
    )


def _has_no_room(lanes: list[Node]) -> bool:
    """Whether lanes have no axis that could be a batch of their own: vectors of several lengths."""
    shapes = [it.shape for it in lanes]
    if not shapes or any(not isinstance(it, tuple) or len(it) > 1 for it in shapes):
        return False
    vectors = _vectors(lanes)
    are_apart = len(shapes) == 1 or len(set(vectors)) == len(vectors)
    return are_apart and not any(map(_is_row_of_pairs, lanes))


def _vectors(lanes: list[Node]) -> list[Dim]:
    """The lengths of the lanes that are vectors."""
    return [it.shape[0] for it in lanes if isinstance(it.shape, tuple) and len(it.shape) == 1]


def _is_row_of_pairs(lane: Node) -> bool:
    """Whether a lane is a row of a table of each with each, as of similarities."""
    whole = lane.inputs[0]
    is_square = isinstance(whole.shape, tuple) and len(set(whole.shape)) < len(whole.shape)
    return is_square and first_behind(whole, lambda it: it.operation in CONTRACTIONS) is not None


@dataclass(frozen=True, eq=False)
class Counted:
    """A name for the length of something that one lane has."""

    frame: Frame
    target: ast.Name
    array: Data
    region: Region
    axis: str


def lengths_of_lanes(facts: SourceFacts) -> Iterator[Counted]:
    """`n = x.shape[0]` in a lane whose axis has a name, which `x` has not."""
    for frame in runs_inside_maps(facts):
        for statement, _ in frame.steps:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            written = measured(statement.value) if isinstance(statement, ast.Assign) else None
            array = held(frame, written) if written is not None else None
            if not isinstance(target, ast.Name) or not isinstance(array, Data):
                continue
            for region, axis in named_maps(array.node):
                yield Counted(frame, target, array, region, axis)


def differences_to_end(facts: SourceFacts) -> Iterator[tuple[Data, Data, Region, str]]:
    """`x - x[0]` of a vector that one lane has: itself, its first or last element, and the map."""
    for node in nodes_by(facts, ("-",)):
        if len(node.operands) != 2:
            continue
        whole, first = node.operands
        if not isinstance(whole, Data) or not isinstance(first, Data) or first.node.shape != ():
            continue
        index = index_parts(first.node.syntax)
        is_end = len(index) == 1 and text_of(index[0]) in ("0", "-1")
        if is_end and whole.node in first.node.inputs and len(names_of(whole.node.shape)) == 1:
            for region, axis in named_maps(whole.node):
                yield whole, first, region, axis
                break


@dataclass(frozen=True, eq=False)
class OtherEnd:
    """`x[:, -1]`, called the last of a sequence, which is axis 0 of what one lane has."""

    frame: Frame
    syntax: ast.Subscript
    name: str
    array: Data
    region: Region


def ends_of_another_axis(facts: SourceFacts) -> Iterator[OtherEnd]:
    """Elements that are named after an end of a sequence, and picked along the axis behind it."""
    for frame in runs_inside_maps(facts):
        for statement, _ in frame.steps:
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            name = target.id if isinstance(target, ast.Name) else frame.name
            is_named = isinstance(target, ast.Name) or isinstance(statement, ast.Return)
            if is_named and _end(name) is not None and not is_feature(name):
                yield from _other_ends(frame, statement, name)


_ENDS = {"first": "0", "initial": "0", "cls": "0", "last": "-1", "final": "-1"}


def _end(name: str) -> str | None:
    """The index of the end of a sequence that something is called after."""
    return next((_ENDS[it] for it in words_of(name.rpartition(".")[2]) if it in _ENDS), None)


def _other_ends(frame: Frame, statement: ast.stmt, name: str) -> Iterator[OtherEnd]:
    for syntax in walked(statement):
        index = index_parts(syntax)
        array = held(frame, syntax.value) if isinstance(syntax, ast.Subscript) else None
        if len(index) < 2 or not is_whole(index[0]) or not isinstance(array, Data):
            continue
        before, behind = (*names_of(array.node.shape), "", "")[:2]
        is_other = is_sequence(before) and bool(behind) and not is_sequence(behind)
        is_end = ast.unparse(index[1]) == _end(name)
        if is_other and is_end and isinstance(syntax, ast.Subscript):
            for region, _ in named_maps(array.node):
                yield OtherEnd(frame, syntax, name, array, region)
                break


def named_maps(node: Node) -> Iterator[tuple[Region, str]]:
    """The maps in whose lanes a value differs, by the names of their axes, which it has not."""
    names = names_of(node.shape)
    for region in node.varies if names else ():
        axis = name_of(region.details.get("size")) if region.kind in ("vmap", "pmap") else ""
        if axis and axis not in names:
            yield region, axis


def measured(value: ast.expr) -> ast.expr | None:
    """`x` in `x.shape[0]` and `len(x)`."""
    match value:
        case ast.Subscript(
            value=ast.Attribute(value=array, attr="shape"), slice=ast.Constant(value=0)
        ):
            return array
        case ast.Call(func=ast.Name(id="len"), args=[array]):
            return array
        case _:
            return None


def lanes_over(region: Region) -> str:
    """The name of the axis that a map takes away; empty if it has none."""
    return name_of_most(region.details.get("size"))


def lanes_of_time(node: Node) -> Region | None:
    """The map over an axis of time, of one lane of which a value is made."""
    while node.operation in ARITHMETIC and node.inputs:
        node = node.inputs[0]
    own = node.varies - node.inputs[0].varies if node.operation == "lane" else ()
    return next((it for it in own if it.kind == "vmap" and is_sequence(lanes_over(it))), None)
