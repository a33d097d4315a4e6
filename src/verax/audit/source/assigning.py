"""What an assignment does: it binds names, takes values apart, and changes attributes and items."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import parts
from .events import Fact, Mutation
from .frame import Site
from .joining import join
from .library.containers import adopted
from .shapes.dims import sub
from .shaping import length_of, unpacked_shape
from .text import text_of
from .values import (
    Bound,
    Class,
    Constant,
    Data,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Value,
    is_bounded,
)

if TYPE_CHECKING:
    from .frame import Frame
    from .machine import Interpreter


def assign(machine: Interpreter, frame: Frame, target: ast.expr, value: Value) -> None:
    """Give a value to a name, an attribute, an item, or the parts of it to several."""
    kind = target.__class__
    if kind is ast.Name:
        _assign_name(machine, frame, target, value)  # type: ignore[arg-type]
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(machine, frame, target, value)
    elif isinstance(target, ast.Attribute):
        _assign_attribute(machine, frame, target, value)
    elif isinstance(target, ast.Subscript):
        _assign_item(machine, frame, target, value)
    elif isinstance(target, ast.Starred):
        assign(machine, frame, target.value, value)


def _assign_name(machine: Interpreter, frame: Frame, target: ast.Name, value: Value) -> None:
    name = target.id
    declared = frame.global_names.get(name) if frame.global_names else None
    if declared is None:
        frame.environment[name] = value
        return
    scope = frame.outer
    if declared == "global":
        scope = frame.module.frame
    else:
        while scope is not None and name not in scope.environment:
            scope = scope.outer
    before = scope.environment.get(name) if scope is not None else None
    machine.note(Mutation(target, frame, before, name, declared, value, before))
    if scope is not None:
        scope.environment[name] = value if before is None else join(before, value)


def _has_no_parts(value: Value) -> bool:
    """Whether a value can certainly not be unpacked."""
    number = value.value if isinstance(value, Constant) else None
    return isinstance(value, Function) or isinstance(number, (int, float))


def _unpack(machine: Interpreter, frame: Frame, target: ast.Tuple | ast.List, value: Value) -> None:
    targets = target.elts
    site = Site(frame, target)
    starred = next((i for i, it in enumerate(targets) if isinstance(it, ast.Starred)), None)
    if isinstance(value, Data) and value.type == "shape" and starred is None:
        value = unpacked_shape(machine, value, len(targets), targets)
    if isinstance(value, Data):
        data = {"value": value, "count": len(targets), "is_open": starred is not None}
        machine.note(Fact(target, frame, "unpacked", data))
    if isinstance(value, Sequence) and value.items is not None:
        items = value.items
        if starred is None and len(items) == len(targets):
            for inner, item in zip(targets, items, strict=True):
                assign(machine, frame, inner, item)
            return
        if starred is not None and len(items) >= len(targets) - 1:
            after = len(targets) - starred - 1
            middle = items[starred : len(items) - after]
            given = [*items[:starred], Sequence("list", middle), *items[len(items) - after :]]
            for inner, item in zip(targets, given, strict=True):
                assign(machine, frame, inner, item)
            return
    if (isinstance(value, Sequence) and value.items is not None) or _has_no_parts(value):
        data = {"value": value, "targets": len(targets)}
        machine.note(Fact(target, frame, "unpacked wrongly", data))
    for number, inner in enumerate(targets):
        if isinstance(inner, ast.Starred):
            known = _elements(machine, site, value, number, len(targets) - number - 1)
            if known is not None:
                assign(machine, frame, inner.value, Sequence("list", known))
                continue
            end = Constant(number - len(targets) + 1 or None)
            bounds: list[Value] = [Constant(number), end, Constant(None)]
            rest = parts.item(machine, site, value, Sequence("slice", bounds))
            element = parts.element(machine, site, rest)
            length = sub(length_of(value), len(targets) - 1)
            assign(machine, frame, inner.value, Sequence("list", None, element, length=length))
        elif isinstance(value, (Data, Sequence)):
            position = number if starred is None or number < starred else number - len(targets)
            part = parts.item(machine, Site(frame, inner), value, Constant(position))
            assign(machine, frame, inner, part)
        else:
            assign(machine, frame, inner, parts.element(machine, site, value))


# Elements of an array that are told apart when the rest of it is taken as a list.
_FEW_ELEMENTS = 16


def _elements(
    machine: Interpreter, site: Site, value: Value, before: int, after: int
) -> list[Value] | None:
    """The elements of an array of known length, without some at both ends, if they are few."""
    length = length_of(value) if isinstance(value, Data) else None
    if not isinstance(length, int) or not 0 <= length - before - after <= _FEW_ELEMENTS:
        return None
    return [parts.item(machine, site, value, Constant(i)) for i in range(before, length - after)]


def _assign_attribute(
    machine: Interpreter, frame: Frame, target: ast.Attribute, value: Value
) -> None:
    owner = machine.evaluate(frame, target.value)
    before = _held(owner, "field", target.attr)
    name = text_of(target)
    value = adopted(owner, value)
    machine.note(Mutation(target, frame, owner, name, "attribute", value, before))
    found = owner.cls.find(target.attr) if isinstance(owner, Instance) else None
    setter = found.keywords.get("setter") if isinstance(found, Partial) else None
    if setter is not None:
        machine.call(Site(frame, target), Bound(setter, owner), [value], {})
    elif isinstance(owner, (Instance, Class)):
        sure = before is None or machine.control == 0
        owner.attributes[target.attr] = value if sure else join(before, value)  # type: ignore[arg-type]
    elif isinstance(owner, Data) and owner.node.children is not None:
        owner.node.children.pop(("field", target.attr), None)


def _held(owner: Value, how: str, key: Any) -> Value | None:
    """What an object, a dict or some data holds under a name, as far as that was asked for."""
    if isinstance(owner, (Instance, Class)):
        return owner.attributes.get(key)
    if isinstance(owner, Mapping):
        return owner.items.get(key)
    if isinstance(owner, Data) and owner.node.children is not None:
        child = owner.node.children.get((how, key if how == "field" else ("constant", key)))
        return None if child is None else Data(child)
    return None


def _assign_item(machine: Interpreter, frame: Frame, target: ast.Subscript, value: Value) -> None:
    owner = machine.evaluate(frame, target.value)
    index = machine.evaluate(frame, target.slice)
    site = Site(frame, target)
    known = index.value if isinstance(index, Constant) else None
    before = _held(owner, "item", known)
    name = text_of(target.value)
    value = adopted(owner, value)
    machine.note(Mutation(target, frame, owner, name, "item", value, before))
    if isinstance(owner, Mapping):
        if isinstance(index, Constant) and owner.made_at == machine.control:
            owner.items[index.value] = value
            # A function that fills in a dict of the module's does so when it is called.
            owner.is_open = owner.is_open or (
                owner.made_in is not frame and owner.made_in is frame.module.frame
            )
        elif isinstance(index, Constant) and before is not None:
            owner.items[index.value] = join(before, value)
        else:
            parts.hashed(machine, site, index)
            owner.is_open = True
            owner.items[object()] = value
    elif isinstance(owner, Sequence) and owner.items is not None:
        same = owner.made_at == machine.control
        if isinstance(index, Constant) and isinstance(index.value, int) and same:
            if -len(owner.items) <= index.value < len(owner.items):
                owner.items[index.value] = value
        elif is_bounded(owner):
            owner.items = [join(item, value) for item in owner.items]
        else:
            owner.element, owner.items, owner.length = join(owner, value), None, None
    elif isinstance(owner, Sequence):
        owner.element = value if owner.element is None else join(owner.element, value)
    elif isinstance(owner, Data):
        if owner.node.writes is not None:
            owner.node.writes += 1
        owner.node.children = None
