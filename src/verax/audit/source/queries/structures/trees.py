"""Structures of trees: where two of them differ for certain, and what is no array in one."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...classes import all_fields, base_names, fields_are_leaves, is_static_field
from ...shapes import lookup
from ...shapes.dims import differ
from ...shapes.dtypes import of_literal
from ...shapes.shape import show_shape
from ...shaping import SEVERAL
from ...values import (
    Bound,
    Class,
    Constant,
    Data,
    External,
    Function,
    Instance,
    Mapping,
    Sequence,
    Transformed,
    Value,
)

Compare = Callable[[Value, Value], str]
_DEPTH = 10


def difference(one: Value, other: Value, of_leaves: Compare | None = None, depth: int = 0) -> str:
    """In what two trees differ for certain, in words; empty if they may be the same."""
    if one is other or depth > _DEPTH:
        return ""
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return _of_sequences(one, other, of_leaves, depth)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return _of_mappings(one, other, of_leaves, depth)
    if isinstance(one, Instance) and isinstance(other, Instance):
        return _of_instances(one, other, of_leaves, depth)
    first, second = kind_of(one), kind_of(other)
    if first and second and first != second and not _may_compute(one) and not _may_compute(other):
        return f"{_article(first)} and {_article(second)}"
    if first == second == "array" and of_leaves is not None:
        return of_leaves(one, other)
    return ""


def _may_compute(value: Value) -> bool:
    """Whether operators give objects of the same class, so that any result of one may be such."""
    return isinstance(value, Instance) and value.cls.find("__mul__") is not None


def kind_of(value: Value) -> str:
    """What a value is in a tree: a leaf, `None`, or a container; empty if that is not known."""
    if isinstance(value, Sequence):
        is_real = value.kind in ("tuple", "list")
        return (value.type.name if value.type is not None else value.kind) if is_real else ""
    if isinstance(value, Mapping):
        return "dict"
    if isinstance(value, Constant):
        if value.value is None:
            return "None"
        return "array" if isinstance(value.value, (int, float, complex)) else ""
    if isinstance(value, Instance):
        return value.cls.name if fields_are_leaves(value.cls) else ""
    is_one = isinstance(value, Data) and value.is_array and value.type != SEVERAL
    return "array" if is_one else ""


def prefix_difference(first: Value, other: Value) -> str:
    """In what another tree does not have the structure of the first; below its leaves it may go."""
    if kind_of(first) == "array" or kind_of(first) == "":
        return ""
    if isinstance(first, Sequence) and isinstance(other, Sequence):
        found = _of_sequences(first, other, None, _DEPTH)
        if found or first.items is None or other.items is None:
            return found
        pairs = zip(first.items, other.items, strict=True)
        return next(filter(None, (prefix_difference(a, b) for a, b in pairs)), "")
    if isinstance(first, Mapping) and isinstance(other, Mapping):
        found = _of_mappings(first, other, None, _DEPTH)
        if found:
            return found
        shared = [key for key in first.items if key in other.items]
        pairs = ((first.items[key], other.items[key]) for key in shared)
        return next(filter(None, (prefix_difference(a, b) for a, b in pairs)), "")
    return difference(first, other)


def _article(kind: str) -> str:
    return kind if kind == "None" else f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _of_sequences(one: Sequence, other: Sequence, of_leaves: Compare | None, depth: int) -> str:
    first, second = kind_of(one), kind_of(other)
    if not first or not second:
        return ""
    if first != second:
        return f"{_article(first)} and {_article(second)}"
    if one.items is None or other.items is None:
        return ""
    if len(one.items) != len(other.items):
        return f"{_article(first)} of {len(one.items)} and one of {len(other.items)}"
    for a, b in zip(one.items, other.items, strict=True):
        found = difference(a, b, of_leaves, depth + 1)
        if found:
            return found
    return ""


def _of_mappings(one: Mapping, other: Mapping, of_leaves: Compare | None, depth: int) -> str:
    if not one.is_open and not other.is_open and one.items.keys() != other.items.keys():
        only = [repr(key) for key in one.items if key not in other.items]
        more = [repr(key) for key in other.items if key not in one.items]
        return f"dicts with different keys ({', '.join(only + more)} in only one of them)"
    for key, value in one.items.items():
        found = ""
        if key in other.items:
            found = difference(value, other.items[key], of_leaves, depth + 1)
        if found:
            return f"{found} under {key!r}"
    return ""


def _of_instances(one: Instance, other: Instance, of_leaves: Compare | None, depth: int) -> str:
    if not fields_are_leaves(one.cls) or not fields_are_leaves(other.cls):
        return ""
    if one.cls is not other.cls:
        # An annotation may name a class of which the object's own class is only one kind.
        related = one.cls in other.cls.lineage() or other.cls in one.cls.lineage()
        return "" if related else f"{_article(one.cls.name)} and {_article(other.cls.name)}"
    for name in all_fields(one.cls):
        first, second = one.attributes.get(name), other.attributes.get(name)
        if first is None or second is None or is_static_field(one.cls, name):
            continue
        found = difference(first, second, of_leaves, depth + 1)
        if found:
            return f"{found} in `{name}`"
    return ""


def types_differ(one: Value, other: Value) -> str:
    """In what two arrays differ for certain: rank, sizes, or the kind of number."""
    first, second = _type(one), _type(other)
    if isinstance(first[0], tuple) and isinstance(second[0], tuple):
        same_rank = len(first[0]) == len(second[0])
        if not same_rank or any(map(differ, first[0], second[0])):
            return f"arrays of shape {show_shape(first[0])} and {show_shape(second[0])}"
    kinds = _number(first[1]), _number(second[1])
    if all(kinds) and kinds[0] != kinds[1]:
        return f"{first[1].rstrip('*')} and {second[1].rstrip('*')}"
    return ""


def _type(value: Value) -> tuple[object, str]:
    if isinstance(value, Data):
        return value.node.shape, value.node.dtype or ""
    if isinstance(value, Constant):
        return (), of_literal(value.value) or ""
    return None, ""


def _number(dtype: str) -> str:
    for kind in ("float", "bfloat", "uint", "int", "bool", "complex"):
        if dtype.startswith(kind):
            return "float" if kind == "bfloat" else "int" if kind == "uint" else kind
    return ""


# --- leaves that are no arrays


def strange_leaves(
    value: Value, path: str = "", depth: int = 0, with_integers: bool = False
) -> Iterator[tuple[str, str]]:
    """The leaves of a tree that are certainly no arrays or numbers: where they are, and what.

    `with_integers` it tells of whole numbers as well, which have no derivative.
    """
    if depth > _DEPTH:
        return
    if isinstance(value, Sequence):
        items = enumerate(value.items or ()) if value.kind in ("tuple", "list") else ()
        inner = [(f"{path}[{number}]", item) for number, item in items]
    elif isinstance(value, Mapping):
        inner = [(f"{path}[{key!r}]", item) for key, item in value.items.items()]
    elif isinstance(value, Instance):
        is_module = "equinox.Module" in base_names(value.cls)
        fields = all_fields(value.cls) if is_module else ()
        inner = [
            (f"{path}.{name}", item)
            for name, item in value.attributes.items()
            if name in fields and not is_static_field(value.cls, name)
        ]
    else:
        inner = []
        what = _strange(value)
        if not what and with_integers and isinstance(value, Constant):
            what = type(value.value).__name__ if isinstance(value.value, int) else ""
        if what:
            yield path, what
    for where, item in inner:
        yield from strange_leaves(item, where, depth + 1, with_integers)


# Modules of equinox that have functions among their leaves.
WITH_FUNCTIONS = frozenset(
    f"equinox.nn.{name}" for name in ("MLP", "Lambda", "MaxPool2d", "MaxPool1d", "WeightNorm")
)


# Objects of Python's own that hold arrays, and that JAX does not look into.
_NO_TREES = {
    "argparse.Namespace": "Namespace",
    "collections.UserDict": "UserDict",
}


def _has_functions(module: Data) -> bool:
    """Whether a module of equinox has functions among its leaves, or a layer has that it holds."""
    if module.type == "equinox.nn.Sequential":
        return any(
            what == "function" for it in module.node.operands for _, what in strange_leaves(it)
        )
    return module.type in WITH_FUNCTIONS


def _strange(value: Value) -> str:
    if isinstance(value, Constant):
        return "str" if isinstance(value.value, (str, bytes)) else ""
    if isinstance(value, Data):
        return "function" if _has_functions(value) else _NO_TREES.get(value.type or "", "")
    if isinstance(value, (Function, Transformed, Class)):
        return "function" if not isinstance(value, Class) else "class"
    if isinstance(value, Bound):
        return "function" if isinstance(value.function, (Function, Transformed)) else ""
    if isinstance(value, External):
        is_function = value.name.startswith("jax.") and lookup(value.name) is not None
        return "function" if is_function else ""
    return ""
