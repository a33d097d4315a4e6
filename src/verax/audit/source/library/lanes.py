"""Values at the boundary of `vmap` and `pmap`: what one lane sees, and all lanes together."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeGuard

from ..classes import is_static_field
from ..frame import Region
from ..graph import Node
from ..shapes import Dim, Mismatch, Partial, Size
from ..shapes.axes import insert_axis, remove_axis
from ..shapes.names import name_of
from ..shapes.shape import partial, size_of
from ..values import (
    Constant,
    Data,
    Instance,
    Mapping,
    Sequence,
    Transformed,
    Value,
    mapped,
)
from .options import axes_of, static_names

if TYPE_CHECKING:
    from ..frame import Site


def mapped_arguments(
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments as one lane sees them; those of `pmap` that are static as they are."""
    axes = axes_of(transformed, len(args))
    static = static_names(transformed)
    size = transformed.options.get("axis_size")
    if isinstance(size, Constant) and isinstance(size.value, (int, Size)):
        know_size(region, size.value)
    entered = [
        value if at in static else lane(value, axis, site, region, transformed.is_filtered)
        for at, (value, axis) in enumerate(zip(args, axes, strict=True))
    ]
    zero = Constant(0)
    return entered, {
        name: lane(value, zero, site, region, transformed.is_filtered)
        for name, value in keywords.items()
    }


def lane(
    value: Value, axis: Value | None, site: Site, region: Region, is_filtered: bool = False
) -> Value:
    """The part of an argument that one lane of a map sees."""
    if isinstance(axis, Constant) and axis.value is None:
        return value
    if isinstance(axis, Sequence) and isinstance(value, Sequence):
        parts, axes = value.items or [], axis.items or []
        if parts and len(parts) == len(axes):
            items = [lane(v, a, site, region) for v, a in zip(parts, axes, strict=True)]
            return Sequence(value.kind, items, type=value.type)
    if isinstance(axis, Mapping) and isinstance(value, Mapping):
        found = {k: lane(v, axis.items.get(k), site, region) for k, v in value.items.items()}
        return Mapping(found, value.is_open)
    if isinstance(axis, Instance) and isinstance(value, Instance) and axis.cls is value.cls:
        return _lane_of_record(value, axis, site, region)
    number = axis.value if isinstance(axis, Constant) else None

    def change(leaf: Data) -> Data:
        node = leaf.node.child("lane", (region, number), site.syntax, site.frame)
        node.varies = leaf.node.varies | {region}
        node.is_key = leaf.node.is_key
        node.label = leaf.node.label
        node.dtype = leaf.node.dtype
        if isinstance(number, int):
            know_size(region, size_of(leaf.node.shape, number))
            with suppress(Mismatch):
                node.shape = remove_axis(leaf.node.shape, number)
        traced: bool | None = True
        if axis is None or is_filtered:
            traced = leaf.traced
        return Data(node, traced, leaf.is_array, leaf.type)

    return mapped(value, change)


def _lane_of_record(value: Instance, axes: Instance, site: Site, region: Region) -> Instance:
    """What one lane sees of a record, by a record of the same class that holds the axes."""
    own = Instance(value.cls, value.node, traced=value.traced)
    own.attributes = {
        name: part
        if is_static_field(value.cls, name)
        else lane(part, axes.attributes.get(name), site, region)
        for name, part in value.attributes.items()
    }
    return own


def know_size(region: Region, size: Dim) -> None:
    """How many lanes or turns there are, as one of the arguments tells: a name says most."""
    known: Dim = region.details.get("size")
    if known is None or (name_of(size) and not name_of(known)):
        region.details["size"] = size


def lanes_together(value: Value, region: Region, site: Site, transformed: Transformed) -> Value:
    """What the lanes of a map give, each result with the mapped axis where `out_axes` puts it."""
    axes = transformed.options.get("out_axes", Constant(0))
    if isinstance(axes, Sequence) and isinstance(value, Sequence):
        wanted, given = axes.items or (), value.items or ()
        if len(wanted) == len(given):
            items: list[Value] = [
                stacked(item, region, site, axis.value if _is_axis(axis) else None)
                for item, axis in zip(given, wanted, strict=True)
            ]
            return Sequence(value.kind, items, type=value.type)
    return stacked(value, region, site, axes.value if _is_axis(axes) else None)


def _is_axis(value: Value) -> TypeGuard[Constant]:
    return isinstance(value, Constant) and type(value.value) is int


def stacked(value: Value, region: Region, site: Site, axis: int | None = 0) -> Value:
    """What the lanes of a map, or the turns of a scan, give together, as a rule on a first axis."""
    size: Dim = region.details.get("size")

    def change(leaf: Data) -> Data:
        node = Node("stack", (leaf.node,), site.syntax, site.frame, leaf.node.varies - {region})
        node.label = f"axis {axis}" if axis else ""
        node.dtype = leaf.node.dtype
        node.is_key = leaf.node.is_key
        shape = leaf.node.shape
        if axis is not None and isinstance(shape, tuple) and -len(shape) - 1 <= axis <= len(shape):
            node.shape = insert_axis(shape, axis, size)
        elif axis == 0:
            lead, trail = (shape.lead, shape.trail) if isinstance(shape, Partial) else ((), ())
            node.shape = partial((size, *lead), trail)
        # Layers that one map makes are taken apart by another.
        return Data(node, leaf.traced, leaf.is_array, "" if leaf.type == "shape" else leaf.type)

    return mapped(value, change)
