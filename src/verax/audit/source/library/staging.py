"""Values at the boundary of what is staged: tracers inside, results outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..binding import positional_names
from ..classes import fields_are_leaves, innermost_function
from ..graph import Node
from ..values import (
    Bound,
    Constant,
    Data,
    Instance,
    Mapping,
    Sequence,
    Transformed,
    Value,
    mapped,
)
from .options import (
    options_unknown,
    static_names,
)

if TYPE_CHECKING:
    from ..frame import Site


def staged_arguments(
    transformed: Transformed, args: list[Value], keywords: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments as they are inside of what is staged: tracers, unless they are static."""
    function = innermost_function(transformed.function)
    static = static_names(transformed, function)
    uncertain = options_unknown(transformed)
    offset = 1 if isinstance(transformed.function, Bound) else 0

    def entered(value: Value) -> Value:
        if uncertain:
            return value
        return as_traced(value, transformed.is_filtered)

    names = positional_names(function) if function is not None else []
    new_args: list[Value] = []
    for position, value in enumerate(args):
        number = position + offset
        name = names[number] if number < len(names) else None
        is_static = position in static or (name is not None and name in static)
        new_args.append(value if is_static else entered(value))
    new_keywords = {
        name: value if name in static else entered(value) for name, value in keywords.items()
    }
    return new_args, new_keywords


_DTYPES: dict[type, str] = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}


def as_traced(value: Value, is_filtered: bool = False) -> Value:
    """A value as it is inside of a jitted function."""
    if isinstance(value, Constant):
        if is_filtered or value.value is None or not isinstance(value.value, (int, float, complex)):
            return value
        node = Node("argument")
        node.shape = ()
        node.dtype = _DTYPES.get(type(value.value))
        return Data(node, True, True)

    def change(leaf: Data) -> Data:
        traced = True if not is_filtered or (leaf.is_array and leaf.traced) else leaf.traced
        kind = "" if leaf.type == "shape" else leaf.type
        return Data(leaf.node, traced, leaf.is_array, kind)

    if isinstance(value, (Sequence, Mapping)):
        return _containers_traced(value, is_filtered)
    if isinstance(value, Instance) and not fields_are_leaves(value.cls):
        return _object_traced(value)
    return mapped(value, change)


def _object_traced(value: Instance) -> Instance:
    """An object of which it is not known what JAX takes for its leaves."""
    inside = Instance(value.cls, value.node, None, None)
    for name, item in value.attributes.items():
        if isinstance(item, Constant) and isinstance(item.value, (int, float)):
            item = Data(Node("field", (value.node,), label=name), None)
        inside.attributes[name] = mapped(item, lambda leaf: Data(leaf.node, None, leaf.is_array))
    return inside


def _containers_traced(value: Sequence | Mapping, is_filtered: bool) -> Value:
    if isinstance(value, Sequence):
        items = None if value.items is None else [as_traced(it, is_filtered) for it in value.items]
        element = None if value.element is None else as_traced(value.element, is_filtered)
        return Sequence(value.kind, items, element, None, value.made_at, value.length, value.type)
    items_by_key = {key: as_traced(item, is_filtered) for key, item in value.items.items()}
    return Mapping(items_by_key, value.is_open, None, value.made_at)


def as_result(value: Value, site: Site) -> Value:
    """A value as it comes out of a jitted function: an array, or a tracer of what is around."""

    def change(leaf: Data) -> Data:
        if not leaf.traced:
            return leaf
        return Data(leaf.node, True if site.frame.is_staged else None, leaf.is_array, leaf.type)

    return mapped(value, change)
