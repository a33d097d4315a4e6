"""Objects that are others with some fields changed: all other fields are what they were."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..attributes import named_attribute
from ..classes import all_fields
from ..events import Call
from ..parts import item
from ..values import Class, Constant, Data, Function, Instance, Value
from .registry import handles, handles_method

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

# What a step of training changes in flax's state; anything else is in its arguments.
_TRAINED = ("step", "params", "opt_state")


@handles("dataclasses.replace", "object.replace", "object._replace", "object.__replace__")
def _replace(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    owner = args[0] if args else Constant(None)
    result = machine.opaque("replace", site, (*args, *keywords.values()))
    if isinstance(owner, Instance):
        return _changed(machine, site, owner, result, keywords)
    if isinstance(owner, Data) and not site.is_open:
        machine.replaced[result.node] = (owner, keywords)
    return result


@handles("object.apply_gradients")
def _apply_gradients(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`state.apply_gradients(grads=grads)`, of an object whose class derives from flax's."""
    owner = args[0]
    result = machine.opaque(".apply_gradients", site, (*args, *keywords.values()))
    if not isinstance(owner, Instance):
        return result
    return _changed(machine, site, owner, result, _trained(site, result, keywords))


@handles("equinox.tree_at")
def _tree_at(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`eqx.tree_at(lambda tree: (tree.part, …), tree, (new, …))`: an object with other parts."""
    tree = args[1] if len(args) > 1 else keywords.get("pytree")
    new = args[2] if len(args) > 2 else keywords.get("replace")
    result = machine.opaque(name, site, (*args[1:], *keywords.values()))
    if not isinstance(tree, Instance):
        return result
    where = args[0].syntax.body if args and isinstance(args[0], Function) else None
    several = where.elts if isinstance(where, (ast.Tuple, ast.List)) else None
    paths = [_path_of(it) for it in (several or [where])]
    if not all(paths):
        return Instance(tree.cls, result.node, site.frame, tree.traced)
    for number, path in enumerate(paths):
        part = new
        if part is not None and several is not None:
            part = item(machine, site, part, Constant(number))
        tree = _with_part(machine, site, tree, result, path, part)
    return tree


def _path_of(syntax: object) -> list[str]:
    """The fields that lead to a part, up to one that is not reached by names: `tree.a.b`."""
    path: list[str] = []
    while isinstance(syntax, (ast.Attribute, ast.Subscript)):
        path = [syntax.attr, *path] if isinstance(syntax, ast.Attribute) else [""]
        syntax = syntax.value
    return path if isinstance(syntax, ast.Name) else []


def _with_part(
    machine: Interpreter,
    site: Site,
    owner: Instance,
    made: Data,
    path: list[str],
    new: Value | None,
) -> Instance:
    """An object with another part; a field of which only something inside changes is unknown."""
    first, *others = path
    held = named_attribute(machine, site, owner, first) if others and others[0] else None
    changed: Value | None = new if not others else None
    if isinstance(held, Instance):
        changed = _with_part(machine, site, held, made, others, new)
    if changed is None:
        changed = Data(made.node.child("field", first, site.syntax, site.frame), made.traced)
    return _changed(machine, site, owner, made, {first: changed} if first else {})


def _changed(
    machine: Interpreter, site: Site, owner: Instance, made: Data, changes: dict[str, Value]
) -> Instance:
    """An object like another one, with all its fields: also those that nobody has asked for."""
    copy = Instance(owner.cls, made.node, site.frame, owner.traced)
    fields = [it for it in all_fields(owner.cls) if it not in changes]
    kept = {it: named_attribute(machine, site, owner, it) for it in fields}
    copy.attributes = {**owner.attributes, **kept, **changes}
    return copy


def as_object(machine: Interpreter, site: Site, value: Data, cls: Class) -> Instance:
    """Something of which only its origin is known, as an object of a class, changes and all."""
    replaced = machine.replaced.get(value.node)
    if replaced is None:
        return Instance(cls, value.node, None, value.traced)
    owner, changes = replaced
    return _changed(machine, site, as_object(machine, site, owner, cls), value, changes)


def _trained(site: Site, result: Data, keywords: dict[str, Value]) -> dict[str, Value]:
    """The fields that a step of training changes."""
    nodes = {it: result.node.child("field", it, site.syntax, site.frame) for it in _TRAINED}
    new: dict[str, Value] = {it: Data(node, result.traced) for it, node in nodes.items()}
    return {**new, **keywords}


@handles_method("replace", "_replace", "apply_gradients")
def _of_data(
    machine: Interpreter, site: Site, owner: Data, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The same of an object of which only its origin is known."""
    called = site.syntax.func if isinstance(site.syntax, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else "replace"
    result = machine.opaque(f".{name}", site, (owner, *args, *keywords.values()))
    if keywords and not args and not site.is_open:
        is_step = name == "apply_gradients"
        changes = _trained(site, result, keywords) if is_step else keywords
        machine.replaced[result.node] = (owner, changes)
        result.traced = owner.traced
    machine.note(Call(site.syntax, site.frame, f"object.{name}", [owner, *args], keywords, result))
    return result
