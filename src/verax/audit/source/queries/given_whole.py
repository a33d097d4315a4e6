"""Axes that a map goes along, in what it gives to every lane: where that is to be mended."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..axes import names_of
from ..events import Applied, Call, Fact
from ..frame import Frame, Region
from ..graph import Node
from ..library.options import axes_of
from ..operations import ABSOLUTES, SQUARES, STATISTICS
from ..remember import walked
from ..shapes.names import name_of
from ..values import Data, Function, Instance, Mapping, Sequence, Value, leaves
from .arrays import calls_of
from .loops.maps import applied_maps, shared_arguments
from .nodes import position_in, users_of
from .structures.structure import parts_of
from .written import expressions_of

if TYPE_CHECKING:
    from ...finding import Place
    from ..facts import SourceFacts


@dataclass(frozen=True, eq=False)
class GivenWhole:
    """An array with the axis that a map goes along, of which each lane gets all.

    In the lane this axis is summed together with others: `at`.
    """

    at: Call
    region: Region
    node: Node
    axis: str


def summed_whole(facts: SourceFacts) -> Iterator[GivenWhole]:
    """Sums inside of a map over the mapped axis of something and over other axes at once.

    Computing all pairs on purpose ends in one value a pair; a sum over the pairs together with the
    components of each is what a forgotten `in_axes` ends in. So is a sum over differences between
    the one number that a lane has made, and those that all lanes are to be compared with, and one
    over what a lane picks by the indices of all.
    """
    for call in calls_of(facts, *STATISTICS):
        if not isinstance(call.result, Data) or not call.args or call.frame.region is None:
            continue
        after = names_of(call.result.node.shape)
        for leaf in leaves(call.args[0]):
            names = names_of(leaf.node.shape)
            summed = [it for it in names if it not in after] if any(names) else []
            for region in call.frame.region.chain() if summed else ():
                over = _mapped_along(region)
                if not over or over not in summed or region not in leaf.node.varies:
                    continue
                is_alone = len(names) == 1 and (
                    _compares_number(leaf.node, region) or _picks(leaf.node, region, over)
                )
                node = _from_outside(leaf.node, region, over)
                if node is None or (len(summed) < 2 and not is_alone):
                    continue
                if not _is_mapped(node, region) and not (is_alone and _follows(node, region)):
                    yield GivenWhole(call, region, node, over)


def whole_in_clash_at(
    facts: SourceFacts, clash: Fact, own: Node, name: str, beside: Node
) -> Place | None:
    """Where a map leaves an array whole that would fit, did each lane get its own part.

    The array has the axis that the map goes along, which meets another one in the lanes. It is an
    argument, or what the mapped function closes over.
    """
    around = clash.frame.region
    for region in around.chain() if around is not None else ():
        if _mapped_along(region) != name:
            continue
        node = _from_outside(own, region, name)
        if node is None or _is_mapped(node, region) or not _fits_without(own, name, beside):
            continue
        for event in applied_maps(facts):
            if event.region is region:
                shared = [leaf for leaf in shared_arguments(event) if leaf.node is node]
                return (
                    axes_to_mend(event, shared[0]) if shared else closed_over_at(facts, event, node)
                )
    return None


def _fits_without(own: Node, name: str, beside: Node) -> bool:
    """Whether an array without one of its axes lines up with another, by their names."""
    names = [it for it in names_of(own.shape) if it != name]
    pairs = zip(reversed(names), reversed(names_of(beside.shape)), strict=False)
    return all(one == other or not one or not other for one, other in pairs)


def _compares_number(node: Node, region: Region) -> bool:
    """Whether a vector is how far the one number of a lane is from others that all lanes share."""
    while node.operation in _MEASURES and node.inputs:
        node = node.inputs[0]
    if node.operation != "-" or len(node.inputs) != 2:
        return False
    one, other = sorted(node.inputs, key=lambda it: region not in it.varies)
    return one.shape == () and region in one.varies and region not in other.varies


def _picks(node: Node, region: Region, over: str) -> bool:
    """Whether a vector is what a lane picks from its own by the indices of all lanes.

    Not along the axis that the map goes along, as from its row of a matrix of all pairs.
    """
    while node.operation in _MEASURES and node.inputs:
        node = node.inputs[0]
    if node.operation not in ("item", "jax.numpy.take") or len(node.inputs) < 2:
        return False
    own, index = node.inputs[:2]
    is_shared = region in own.varies and region not in index.varies
    return is_shared and names_of(index.shape) == (over,) and over not in names_of(own.shape)


_MEASURES = ABSOLUTES | SQUARES | {"**", "abs"}


def _follows(node: Node, region: Region) -> bool:
    """Whether what all lanes get is made from what they get one by one: then pairs are meant."""
    return any(_is_mapped(it, region) for it in node.ancestors())


def _mapped_along(region: Region) -> str:
    """The name of the axis that a map goes along; empty if it has none, or is none."""
    return name_of(region.details.get("size")) if region.kind in ("vmap", "pmap") else ""


def closed_over_at(facts: SourceFacts, event: Applied, node: Node) -> Place:
    """Where a mapped function first uses what it is not given as an argument."""
    is_written = isinstance(event.transformed.function, Function)
    for user in users_of(facts).get(node, ()) if is_written else ():
        around = user.frame.callers() if user.frame is not None else ()
        inside = [it for it in around if _is_in(it, event.region)]
        syntax = position_in(inside[-1], user) if inside else None
        if syntax is not None:
            return inside[-1].place(syntax)
    return event.place


def _is_in(frame: Frame, region: Region) -> bool:
    around = frame.region.chain() if frame.region is not None else ()
    return frame.function is not None and region in around


def _from_outside(node: Node, region: Region, over: str) -> Node | None:
    """What brings an axis into the lanes, all of which get the same."""
    pending, seen = [node], {node}
    while pending:
        node = pending.pop()
        if over not in names_of(node.shape):
            continue
        if region not in node.varies and not node.is_made_in(region):
            return node
        for source in node.inputs:
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return None


def _is_mapped(node: Node, region: Region) -> bool:
    """Whether each lane also gets its own part of something: all pairs are meant."""
    parts: dict[Any, Node] = node.children or {}
    return any(kind == "lane" and region in key for kind, key in parts)


def axes_to_mend(event: Applied, leaf: Data) -> Place:
    """Where `in_axes` says along which axis an argument is mapped, or has nothing to say of it."""
    transformed = event.transformed
    if "in_axes" not in transformed.options:
        return event.place
    for value, axis in zip(event.args, axes_of(transformed, len(event.args)), strict=True):
        if isinstance(axis, (Mapping, Sequence, Instance)) and axis.made_in is not None:
            written = axis.node.syntax if isinstance(axis, Instance) else axis.syntax
            entry = _entry(written, axis, value, leaf)
            if entry is not None:
                return axis.made_in.place(entry)
    axes = transformed.options["in_axes"]
    is_written = isinstance(axes, Sequence) and isinstance(axes.syntax, ast.Tuple)
    if is_written and isinstance(axes, Sequence) and axes.made_in is not None:
        assert axes.syntax is not None
        if not any(it is axes.syntax for it in walked(transformed.syntax)):
            return axes.made_in.place(axes.syntax)
    return transformed.frame.place(transformed.syntax)


def _entry(written: ast.AST | None, axes: Value, value: Value, leaf: Data) -> ast.expr | None:
    """The entry for one leaf of a dict, a tuple or a record of axes."""
    held = parts_of(value)
    for key, entry in expressions_of(written, axes).items():
        part = held.get(key)
        if part is not None and any(it.node is leaf.node for it in leaves(part)):
            inner = parts_of(axes)[key]
            return _entry(entry, inner, part, leaf) or entry
    return None
