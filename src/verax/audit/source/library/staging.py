"""Values at the boundary of what is staged: tracers inside, results outside."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classes import fields_are_leaves, is_static_field
from ..graph import Node
from ..shapes import Size
from ..shaping import described
from ..values import (
    Constant,
    Data,
    External,
    Instance,
    Mapping,
    Sequence,
    Transformed,
    Value,
    mapped,
    sorted_keys,
)
from .options import free_names, options_unknown, static_names

if TYPE_CHECKING:
    from ..frame import Site


def staged_arguments(
    transformed: Transformed, args: list[Value], keywords: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments as they are inside of what is staged: tracers, unless they are static."""
    static = static_names(transformed)
    uncertain = options_unknown(transformed)

    def entered(value: Value) -> Value:
        if uncertain:
            return value
        return as_traced(value, transformed.is_filtered)

    names = free_names(transformed)
    new_args: list[Value] = []
    for position, value in enumerate(args):
        is_static = position in static or (position < len(names) and names[position] in static)
        new_args.append(value if is_static else entered(value))
    new_keywords = {
        name: value if name in static else entered(value) for name, value in keywords.items()
    }
    return new_args, new_keywords


# What these give are arrays of JAX, which a filter lets in as tracers.
_MAKE_ARRAYS = ("jax.numpy.", "jax.random.", "jax.nn.", "jax.lax.")
_DTYPES: dict[type, str] = {
    bool: "bool",
    int: "int32",
    Size: "int32",
    float: "float32",
    complex: "complex64",
}


def as_traced(value: Value, is_filtered: bool = False) -> Value:
    """A value as it is inside of a jitted function."""
    if isinstance(value, Constant):
        if is_filtered or not isinstance(value.value, (int, Size, float, complex)):
            return value
        return _number_traced(_DTYPES.get(type(value.value)))
    if isinstance(value, External) and not is_filtered and described(value).shape == ():
        return _number_traced(described(value).dtype)  # `jnp.inf` is a float of Python's.

    def change(leaf: Data) -> Data:
        is_ours = leaf.is_array and leaf.node.operation.startswith(_MAKE_ARRAYS)
        traced = True if not is_filtered or is_ours else leaf.traced
        kind = "" if leaf.type == "shape" else leaf.type
        return Data(leaf.node, traced, leaf.is_array, kind)

    if isinstance(value, (Sequence, Mapping)):
        return _containers_traced(value, is_filtered)
    if isinstance(value, Instance):
        if fields_are_leaves(value.cls):
            return _fields_traced(value, is_filtered)
        return _object_traced(value, is_filtered)
    return mapped(value, change)


def _number_traced(dtype: str | None) -> Data:
    """A number of Python's as an argument."""
    node = Node("argument")
    node.shape, node.dtype = (), dtype
    return Data(node, True, True)


def _fields_traced(value: Instance, is_filtered: bool) -> Instance:
    """An object whose fields are leaves, numbers of Python's among them, unless they are static."""
    inside = Instance(value.cls, value.node, None, value.traced if is_filtered else True)
    for name, item in value.attributes.items():
        if is_static_field(value.cls, name):
            inside.attributes[name] = item
        else:
            inside.attributes[name] = as_traced(item, is_filtered)
    return inside


def _object_traced(value: Instance, is_filtered: bool) -> Instance:
    """An object of which only its registration, if anything, says what its leaves are."""
    leaves = value.cls.leaf_names or frozenset()
    inside = Instance(value.cls, value.node, None, True if leaves and not is_filtered else None)
    for name, item in value.attributes.items():
        if name in leaves:
            inside.attributes[name] = as_traced(item, is_filtered)
            continue
        if isinstance(item, Constant) and isinstance(item.value, (int, float)):
            item = Data(Node("field", (value.node,), label=name), None)
        inside.attributes[name] = mapped(item, _unknown)
    return inside


def _unknown(leaf: Data) -> Data:
    """A leaf that may be a tracer or not; a layer stays one."""
    return Data(leaf.node, None, leaf.is_array, "" if leaf.type == "shape" else leaf.type)


def _containers_traced(value: Sequence | Mapping, is_filtered: bool) -> Value:
    if isinstance(value, Sequence):
        items = None if value.items is None else [as_traced(it, is_filtered) for it in value.items]
        element = None if value.element is None else as_traced(value.element, is_filtered)
        return Sequence(value.kind, items, element, None, value.made_at, value.length, value.type)
    items_by_key = {key: as_traced(value.items[key], is_filtered) for key in sorted_keys(value)}
    return Mapping(items_by_key, value.is_open, None, value.made_at)


def as_result(value: Value, site: Site) -> Value:
    """A value as it comes out of a jitted function: an array, or a tracer of what is around."""

    def change(leaf: Data) -> Data:
        if not leaf.traced:
            return leaf
        return Data(leaf.node, True if site.frame.is_staged else None, leaf.is_array, leaf.type)

    return mapped(value, change)
