"""What the annotation of a field tells of an object that is held in it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..syntax import expression_in
from .classes import is_certain
from .graph import Node
from .library.layers import is_layer
from .remember import remembered
from .values import Class, Data, External, Instance, Sequence, Value

if TYPE_CHECKING:
    from .machine import Interpreter

_LISTS = {"list": "list", "List": "list", "tuple": "tuple", "Tuple": "tuple", "Sequence": "list"}


def held_object(
    machine: Interpreter, owner: Instance, name: str, node: Node, traced: bool | None
) -> Value | None:
    """An object, or a list of objects, of a class of the project that a field is annotated with."""
    for cls in owner.cls.lineage():
        field = cls.fields.get(name) if isinstance(cls, Class) else None
        if isinstance(cls, Class) and field is not None:
            kind, syntax = _type(field.annotation)
            held = _named(machine, cls, syntax)
            if not kind:
                return _object(held, node, traced)
            element = _object(held, node.child("element", name, field, cls.frame), traced)
            return None if element is None else Sequence(kind, None, element)
    return None


def _object(held: Value | None, node: Node, traced: bool | None) -> Value | None:
    """An object of what an annotation names, if there is no other class that it may be of."""
    if isinstance(held, External):
        layer = Data(node, traced, type=held.name)
        # Of other layers it is asked where they are made.
        return layer if held.name.startswith("equinox.") and is_layer(layer) else None
    if not isinstance(held, Class) or not is_certain(held):
        return None
    return Instance(held, node, None, traced)


@remembered
def _type(annotation: ast.expr) -> tuple[str, ast.expr | None]:
    """The type in an annotation, and of what kind the container of such objects is."""
    plain = _unquoted(annotation)
    if not isinstance(plain, ast.Subscript):
        return "", plain
    base, inner = plain.value, plain.slice
    name = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
    kind = _LISTS.get(name)
    if kind == "tuple" and isinstance(inner, ast.Tuple):
        first, *rest = inner.elts
        is_open = [it.value for it in rest if isinstance(it, ast.Constant)] == [...]
        inner = first if is_open and len(rest) == 1 else None
    elif kind == "tuple":
        return "", None  # A tuple of one.
    return (kind, _unquoted(inner)) if kind and inner is not None else ("", None)


def _unquoted(annotation: ast.expr) -> ast.expr | None:
    if not isinstance(annotation, ast.Constant) or not isinstance(annotation.value, str):
        return annotation
    return expression_in(annotation.value)


def _named(machine: Interpreter, cls: Class, syntax: ast.expr | None) -> Value | None:
    """What a type names."""
    if isinstance(syntax, ast.Name):
        return machine.lookup(cls.frame, syntax.id)
    return machine.evaluate(cls.frame, syntax) if isinstance(syntax, ast.Attribute) else None
