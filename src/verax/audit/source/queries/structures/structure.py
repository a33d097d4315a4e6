"""Whether two values are trees of the same structure, as JAX sees them."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable
from typing import Any

from ...classes import all_fields, fields_are_leaves, is_static_field
from ...frame import Frame
from ...values import Class, Constant, Data, Instance, Mapping, Sequence, Value

_CONTAINERS = frozenset(("tuple", "list"))


def difference(one: Value | None, other: Value | None, depth: int = 0) -> str | None:
    """How two structures differ for certain; `None` where they agree or where that is not known."""
    if one is None or other is None or depth > 12:
        return None
    first, second = _kind(one), _kind(other)
    if first is None or second is None:
        return None
    if first != second:
        return f"{first} becomes {second}"
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return _of_sequences(one, other, depth)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return _of_mappings(one, other, depth)
    if isinstance(one, Instance) and isinstance(other, Instance):
        return _of_instances(one, other, depth)
    return None


def _of_sequences(one: Sequence, other: Sequence, depth: int) -> str | None:
    if one.items is None or other.items is None:
        return None
    if len(one.items) != len(other.items):
        return f"a {one.kind} of {len(one.items)} becomes one of {len(other.items)}"
    for first, second in zip(one.items, other.items, strict=True):
        found = difference(first, second, depth + 1)
        if found is not None:
            return found
    return None


def _of_mappings(one: Mapping, other: Mapping, depth: int) -> str | None:
    if one.is_open or other.is_open:
        return None
    missing = [key for key in one.items if key not in other.items]
    added = [key for key in other.items if key not in one.items]
    if missing or added:
        words = [f"loses {key!r}" for key in missing] + [f"gains {key!r}" for key in added]
        return f"a dict {' and '.join(words)}"
    for key in one.items:
        found = difference(one.items[key], other.items[key], depth + 1)
        if found is not None:
            return found
    return None


def _of_instances(one: Instance, other: Instance, depth: int) -> str | None:
    if one.cls is not other.cls or not fields_are_leaves(one.cls):
        return None
    for name in all_fields(one.cls):
        if not is_static_field(one.cls, name):
            parts = one.attributes.get(name), other.attributes.get(name)
            found = difference(*parts, depth + 1)
            if found is not None:
                return found
    return None


def way_to_difference(one: Value, other: Value) -> list[Hashable]:
    """The positions, keys and names that lead to the innermost parts of two values that differ."""
    way: list[Hashable] = []
    while len(way) < 12:
        for key, first in parts_of(one).items():
            second = parts_of(other).get(key)
            if second is not None and difference(first, second) is not None:
                way.append(key)
                one, other = first, second
                break
        else:
            break
    return way


def parts_of(value: Value) -> dict[Any, Value]:
    """What a container holds, by position, key or name."""
    if isinstance(value, Sequence):
        items = value.items or ()
        names: Iterable[Hashable] = all_fields(value.type) if value.type else range(len(items))
        return dict(zip(names, items, strict=False))
    if isinstance(value, Mapping):
        return dict(value.items)
    return dict(value.attributes) if isinstance(value, Instance) else {}


def _kind(value: Value) -> str | None:
    """What a value is to JAX: an array, `None`, or a container of some class."""
    if isinstance(value, Sequence):
        if value.kind not in _CONTAINERS:
            return None
        return f"a {value.type.name}" if isinstance(value.type, Class) else f"a {value.kind}"
    if isinstance(value, Mapping):
        return "a dict"
    if isinstance(value, Instance):
        return f"a {value.cls.name}"
    if isinstance(value, Constant):
        if value.value is None:
            return "None"
        return "an array" if isinstance(value.value, (int, float, complex)) else None
    if isinstance(value, Data) and value.is_array:
        return "an array"
    return None


def held(frame: Frame, written: ast.expr) -> Value | None:
    """What a function has under a name, or in the fields and entries of what it has there."""
    match written:
        case ast.Name(id=name):
            return frame.environment.get(name)
        case ast.Attribute(value=owner, attr=key):
            inside = held(frame, owner)
            return None if isinstance(inside, Mapping) else _part(inside, key)
        case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
            return _part(held(frame, owner), key)
        case _:
            return None


def _part(owner: Value | None, key: str) -> Value | None:
    return parts_of(owner).get(key) if owner is not None else None
