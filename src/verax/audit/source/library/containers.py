"""The methods of Python's containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import parts
from ..events import Mutation
from ..joining import MANY, element_of, join, one_of
from ..values import (
    Constant,
    Data,
    Instance,
    Mapping,
    Sequence,
    Value,
    View,
    mapped,
)
from .arguments import compare_by_key
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


def adopted(owner: Value, value: Value) -> Value:
    """A container or an object that is kept from now on by another one, and lives as long."""
    kinds = (Sequence, Mapping, Instance)
    if not isinstance(owner, kinds) or not isinstance(value, kinds):
        return value
    outside, inside = owner.made_in, value.made_in
    if outside is not None and inside is not None and outside.region is not inside.region:
        around = inside.region.chain() if inside.region is not None else ()
        if outside.region is None or outside.region in around:
            value.made_in = outside
    return value


@handles("list.append", "set.add", "list.insert")
def _append(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    value = adopted(owner, args[-1]) if len(args) > 1 else Constant(None)
    how = name.rpartition(".")[2]
    machine.note(Mutation(site.syntax, site.frame, owner, how, how, value))
    if isinstance(owner, Sequence):
        _add(machine, owner, value)
    return Constant(None)


def _add(machine: Interpreter, owner: Sequence, value: Value) -> None:
    if owner.items is not None and owner.made_at == machine.control:
        owner.items.append(value)
        owner.length = len(owner.items)
        return
    before = element_of(owner)
    owner.element = value if before is None else join(before, value)
    owner.items = None
    owner.length = None


def extend_list(machine: Interpreter, site: Site, owner: Sequence, value: Value, name: str) -> None:
    """`owner += value`, or `owner.extend(value)`."""
    machine.note(Mutation(site.syntax, site.frame, owner, name, "extend", value))
    if isinstance(value, Sequence) and value.items is not None:
        for item in value.items:
            _add(machine, owner, item)
    else:
        before = element_of(owner)
        element = parts.element(machine, site, value)
        owner.element = element if before is None else join(before, element)
        owner.items = None
        owner.length = None


@handles("list.extend", "set.update")
def _extend(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    if isinstance(owner, Sequence) and len(args) > 1:
        extend_list(machine, site, owner, args[1], name.rpartition(".")[2])
    return Constant(None)


@handles("list.pop", "list.remove", "list.clear", "list.sort", "list.reverse", "dict.pop")
@handles("dict.clear", "dict.popitem", "set.discard", "set.remove")
def _change(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    how = name.rpartition(".")[2]
    machine.note(Mutation(site.syntax, site.frame, owner, how, how))
    element: Value | None = None
    if isinstance(owner, Sequence):
        if how == "pop":
            return _popped(machine, site, owner, args[1] if len(args) > 1 else Constant(-1))
        element = element_of(owner)
        owner.items, owner.element, owner.length = None, element, None
        if how == "sort" and element is not None:
            compare_by_key(machine, site, element, keywords)
    elif isinstance(owner, Mapping):
        key = args[1] if len(args) > 1 else None
        if how == "pop" and isinstance(key, Constant) and key.value in owner.items:
            element = owner.items[key.value]
        owner.is_open = True
    if element is None:
        return machine.opaque(how, site, (owner,))
    return element


def _popped(machine: Interpreter, site: Site, owner: Sequence, index: Value) -> Value:
    """What a list gives away: it is none of those that are left."""
    items, at = owner.items, index.value if isinstance(index, Constant) else None
    if owner.made_at != machine.control:
        items = None  # One of several ways may have changed it.
    if items is not None and isinstance(at, int) and -len(items) <= at < len(items):
        owner.length = len(items) - 1
        return items.pop(at)
    element = element_of(owner)
    owner.items, owner.element, owner.length = None, element, None
    if not isinstance(element, Data):
        return machine.opaque("pop", site, (owner,)) if element is None else element
    node, given = element.node, machine.opaque("pop", site, (element,))
    given.node.shape, given.node.dtype, given.node.is_key = node.shape, node.dtype, node.is_key
    return Data(given.node, element.traced, element.is_array, element.type)


@handles("dict.setdefault")
def _setdefault(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    if len(args) > 1:
        parts.hashed(machine, site, args[1])
    key = args[1].value if len(args) > 1 and isinstance(args[1], Constant) else object()
    value = adopted(owner, args[2]) if len(args) > 2 else Constant(None)
    machine.note(Mutation(site.syntax, site.frame, owner, "setdefault", "setdefault", value))
    if not isinstance(owner, Mapping):
        return machine.opaque("setdefault", site, (owner, value))
    found = owner.items.get(key)
    if found is None:
        owner.items[key] = value
        owner.is_open = True
    return value if found is None else found


@handles("dict.update")
def _update(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    given = Sequence("tuple", [*args[1:], *keywords.values()])
    machine.note(Mutation(site.syntax, site.frame, owner, "update", "update", given))
    if isinstance(owner, Mapping):
        for value in args[1:]:
            if isinstance(value, Mapping):
                owner.items.update(value.items)
                owner.is_open = owner.is_open or value.is_open
            else:
                owner.is_open = True
        owner.items.update(keywords)
        if owner.made_at != machine.control:
            owner.is_open = True
    return Constant(None)


@handles("dict.get")
def _get(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    found = parts.item(machine, site, args[0], args[1] if len(args) > 1 else Constant(None))
    default = args[2] if len(args) > 2 else Constant(None)
    owner = args[0]
    key = args[1].value if len(args) > 1 and isinstance(args[1], Constant) else None
    if key is not None and isinstance(owner, Mapping) and key in owner.items:
        return found
    return join(found, default)


@handles("dict.items", "dict.keys", "dict.values", "dict.copy", "list.copy")
def _views(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    how = name.rpartition(".")[2]
    if how == "copy":
        if isinstance(owner, Mapping):
            return Mapping(dict(owner.items), owner.is_open, site.frame, machine.control)
        if isinstance(owner, Sequence):
            items = None if owner.items is None else list(owner.items)
            return Sequence(owner.kind, items, owner.element, site.frame, machine.control)
        return owner
    if not isinstance(owner, Mapping):
        return machine.opaque(how, site, (owner,))
    if owner.is_open or len(owner.items) > MANY:
        joined = one_of(owner.items.values()) or machine.opaque(how, site, (owner,))
        key = machine.opaque("key", site, (), traced=False)
        element = {"items": machine.tuple_of(key, joined), "keys": key, "values": joined}[how]
        return View(owner, None, element)
    pairs: list[Value] = []
    for key, value in owner.items.items():
        constant = Constant(key)
        pairs.append({"items": machine.tuple_of(constant, value), "keys": constant}.get(how, value))
    return View(owner, pairs)


@handles("tuple._replace")
def _replace(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0]
    if isinstance(owner, Sequence) and owner.type is not None and owner.items is not None:
        names = list(owner.type.fields)
        items = [keywords.get(n, v) for n, v in zip(names, owner.items, strict=False)]
        return Sequence("tuple", items, None, site.frame, type=owner.type, syntax=site.syntax)
    return machine.opaque("replace", site, (*args, *keywords.values()))


@handles("copy.copy", "copy.deepcopy")
def _copied(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A container or an object of its own, with the same in it; `deepcopy` copies that as well."""
    value = args[0] if args else Constant(None)
    if name.endswith("deepcopy"):
        value = mapped(value, lambda leaf: leaf)
    copy: Sequence | Mapping | Instance
    if isinstance(value, Sequence):
        items = None if value.items is None else list(value.items)
        copy = Sequence(value.kind, items, value.element, length=value.length, type=value.type)
    elif isinstance(value, Mapping):
        copy = Mapping(dict(value.items), value.is_open, syntax=value.syntax)
    elif isinstance(value, Instance):
        copy = Instance(value.cls, value.node, traced=value.traced)
        copy.attributes = dict(value.attributes)
    else:
        return value
    copy.made_in = site.frame
    if not isinstance(copy, Instance):
        copy.made_at = machine.control
    return copy
