"""Equinox: trees that are divided into their arrays and the rest, and put together again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classes import decorator_names, is_static_field
from ..events import Fact
from ..values import (
    NONE,
    Class,
    Constant,
    Data,
    External,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Value,
)
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_ARRAYS = frozenset(
    f"equinox.{name}"
    for name in ("is_array", "is_inexact_array", "is_array_like", "is_inexact_array_like")
)
_DEPTH = 12


@handles("equinox.partition")
def _partition(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`arrays, rest = eqx.partition(tree, eqx.is_array)`.

    By another filter the first part stands for all of a tree: of the rest nobody asks anything
    until they meet.
    """
    tree = args[0] if args else keywords.get("pytree")
    asked = args[1] if len(args) > 1 else keywords.get("filter_spec")
    if tree is not None and _is_for_arrays(asked):
        machine.note(Fact(site.syntax, site.frame, "arrays of", {"tree": tree}))
        return machine.tuple_of(*divided(tree))
    if isinstance(tree, Instance):
        machine.note(Fact(site.syntax, site.frame, "filtered", {"tree": tree}))
        return machine.tuple_of(tree, machine.opaque(name, site, args[:1]))
    return machine.opaque("call", site, (*args, *keywords.values()), type=name)


_MADE_WITH_STATE = "verax.made_with_state"


@handles("equinox.nn.make_with_state")
def _make_with_state(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`model, state = eqx.nn.make_with_state(Model)(key)` calls `Model(key)`."""
    return Partial(External(_MADE_WITH_STATE), args[:1], {})


@handles(_MADE_WITH_STATE)
def _made_with_state(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    model = machine.call(site, args[0], args[1:], keywords)
    return machine.tuple_of(model, machine.opaque(name, site, args[1:], traced=None))


@handles("equinox.filter")
def _filter(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The arrays of a tree."""
    tree = args[0] if args else keywords.get("pytree")
    asked = args[1] if len(args) > 1 else keywords.get("filter_spec")
    others = len(args) > 2 or keywords.keys() - {"pytree", "filter_spec"}
    if tree is not None and not others and _is_for_arrays(asked):
        machine.note(Fact(site.syntax, site.frame, "arrays of", {"tree": tree}))
        return divided(tree)[0]
    if isinstance(tree, Instance):
        machine.note(Fact(site.syntax, site.frame, "filtered", {"tree": tree}))
        return tree
    return machine.opaque("call", site, (*args, *keywords.values()), type=name)


@handles("equinox.combine")
def _combine(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A tree with what is not `None` in the first of several."""
    found = combined(args[0], args[1]) if len(args) == 2 and not site.is_open else None
    whole = [it for it in args if isinstance(it, Instance)]
    if found is None and len(whole) == 1:
        return whole[0]
    return machine.opaque("call", site, args, type=name) if found is None else found


def _is_for_arrays(asked: Value | None) -> bool:
    return isinstance(asked, External) and asked.name in _ARRAYS


def divided(value: Value, depth: int = 0) -> tuple[Value, Value]:
    """The arrays of a tree, and everything else, each with `None` for what the other has."""
    if depth > _DEPTH:
        return value, NONE
    if isinstance(value, Data):
        # What is an array in here is not known, and what kind of thing it is belongs to the rest.
        plain = Data(value.node, value.traced, value.is_array, "", value.limit)
        return plain, (value if value.type else NONE)
    if isinstance(value, Sequence) and value.items is not None:
        halves = [divided(it, depth + 1) for it in value.items]
        first, second = (
            Sequence(value.kind, list(it), made_in=value.made_in, type=value.type)
            for it in (zip(*halves, strict=True) if halves else ((), ()))
        )
        return first, second
    if isinstance(value, Sequence) and value.element is not None:
        each, rest = divided(value.element, depth + 1)
        return (
            Sequence(value.kind, None, each, value.made_in, length=value.length),
            Sequence(value.kind, None, rest, value.made_in, length=value.length),
        )
    if isinstance(value, Mapping):
        parts = {key: divided(it, depth + 1) for key, it in value.items.items()}
        first, second = (
            Mapping({key: it[side] for key, it in parts.items()}, value.is_open, value.made_in)
            for side in (0, 1)
        )
        return first, second
    if isinstance(value, Instance) and not _is_plain(value.cls):
        return _divided_object(value, depth)
    return NONE, value


def _is_plain(cls: Class) -> bool:
    """Whether objects of a class are leaves for certain, whatever they hold: no arrays."""
    plain = {"dataclasses.dataclass"}
    decorators = decorator_names(cls)
    is_known = len(decorators) == len(cls.decorators) and plain.issuperset(decorators)
    return is_known and cls.registration is None and not cls.bases


def _divided_object(value: Instance, depth: int) -> tuple[Value, Value]:
    halves = (
        Instance(value.cls, value.node, value.made_in, value.traced),
        Instance(value.cls, value.node, value.made_in, False),
    )
    for name, part in value.attributes.items():
        is_static = is_static_field(value.cls, name)
        both = (part, part) if is_static else divided(part, depth + 1)
        for half, it in zip(halves, both, strict=True):
            half.attributes[name] = it
    return halves


def combined(one: Value, other: Value, depth: int = 0) -> Value | None:
    """Two halves of a tree as one; `None` if they are no such halves for certain."""
    if _is_none(one):
        return other
    if _is_none(other) or depth > _DEPTH:
        return one
    if isinstance(one, Data) and isinstance(other, Data):
        if not other.type or one.type:
            return None
        return Data(one.node, one.traced, one.is_array, other.type, one.limit)
    if isinstance(one, Instance) and isinstance(other, Instance) and one.cls is other.cls:
        whole = Instance(one.cls, one.node, one.made_in, one.traced)
        for name in {**one.attributes, **other.attributes}:
            parts = one.attributes.get(name, NONE), other.attributes.get(name, NONE)
            is_static = is_static_field(one.cls, name)
            found = parts[0] if is_static else combined(*parts, depth + 1)
            whole.attributes[name] = found if found is not None else parts[0]
        return whole
    return _combined_containers(one, other, depth)


def _combined_containers(one: Value, other: Value, depth: int) -> Value | None:
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        pairs = list(zip(one.items or (), other.items or (), strict=False))
        if one.items is None or other.items is None or len(one.items) != len(other.items):
            return None
        items = [combined(*pair, depth + 1) or pair[0] for pair in pairs]
        return Sequence(one.kind, items, made_in=one.made_in, type=one.type)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        if one.items.keys() != other.items.keys():
            return None
        found = {
            key: combined(it, other.items[key], depth + 1) or it for key, it in one.items.items()
        }
        return Mapping(found, one.is_open or other.is_open, one.made_in)
    # One of them is known, and the other one is not.
    known = [it for it in (one, other) if isinstance(it, (Instance, Sequence, Mapping))]
    return known[0] if len(known) == 1 else None


def _is_none(value: Value) -> bool:
    return isinstance(value, Constant) and value.value is None
