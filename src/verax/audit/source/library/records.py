"""Records whose classes are made by a call, or belong to a library."""

from __future__ import annotations

import ast
from keyword import iskeyword
from typing import TYPE_CHECKING

from ..classes import construct
from ..graph import Node
from ..values import Class, Constant, External, Instance, Sequence, Value, nodes_of
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("collections.namedtuple", "typing.NamedTuple")
def _named_tuple(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`namedtuple("Name", "first second")`, `NamedTuple("Name", [("first", int)])`."""
    title = args[0].value if args and isinstance(args[0], Constant) else None
    fields = _names(args[1]) if len(args) == 2 and not keywords else None
    if not isinstance(title, str) or not _is_name(title) or not fields:
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    return record_class(site, title, fields, "typing.NamedTuple")


def _names(given: Value) -> list[str] | None:
    """The names of the fields, if all of them are known."""
    found: list[object] = []
    if isinstance(given, Constant) and isinstance(given.value, str):
        found.extend(given.value.replace(",", " ").split())
    elif isinstance(given, Sequence):
        for it in given.items or ():
            first = it.items[0] if isinstance(it, Sequence) and it.items else it
            found.append(first.value if isinstance(first, Constant) else None)
    names = [it for it in found if isinstance(it, str) and _is_name(it)]
    return names if len(names) == len(found) else None


def _is_name(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def record_class(site: Site, title: str, fields: list[str], base: str) -> Class:
    """A class with these fields, as if it were written where it is made."""
    lines = [f"class {title}:", *(f"    {it}: object" for it in fields), "    pass"]
    syntax = ast.parse("\n".join(lines)).body[0]
    assert isinstance(syntax, ast.ClassDef)
    for node in ast.walk(syntax):
        ast.copy_location(node, site.syntax)
    cls = Class(syntax, site.frame, [External(base)])
    for statement in syntax.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            cls.fields[statement.target.id] = statement
    return cls


@handles("types.SimpleNamespace")
def _namespace(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """An object that holds what it is given by name."""
    if args or site.is_open:
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    cls = record_class(site, "SimpleNamespace", [], "types.SimpleNamespace")
    inputs = tuple(node for value in keywords.values() for node in nodes_of(value))
    instance = Instance(cls, Node("object", inputs, site.syntax, site.frame), site.frame)
    instance.attributes = dict(keywords)
    return instance


@handles("optax.GradientTransformation", "optax.GradientTransformationExtraArgs")
def _gradient_transformation(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A named tuple of the functions `init` and `update`."""
    title = name.rpartition(".")[2]
    cls = record_class(site, title, ["init", "update"], "typing.NamedTuple")
    return construct(machine, site, cls, args, keywords)
