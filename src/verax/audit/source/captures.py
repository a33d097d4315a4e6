"""What a function reads from outside of itself, and what it finds there when it is called.

A jitted function is traced at its first call: it keeps what it has read then. What it would read
at a later call tells whether that is still true.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .attributes import STATIC_ATTRIBUTES, is_property
from .binding import default_of, positional_names
from .classes import all_fields
from .frame import Frame
from .remember import each, remembered, walked
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
    Transformed,
    Value,
)

if TYPE_CHECKING:
    from .machine import Interpreter

Given = tuple[list["Value"], dict[str, "Value"]]

# Functions within functions whose reads count as the outer one's.
_DEPTH = 3
# Attributes and keys that one read takes.
_LONGEST = 16


@dataclass(frozen=True, slots=True)
class Read:
    """A name that a function reads, with the attributes and constant keys that it takes of it."""

    syntax: ast.expr
    name: str
    path: tuple[tuple[str, object], ...] = ()

    @property
    def text(self) -> str:
        """As it is written."""
        return text_of(self.syntax)

    @property
    def attribute(self) -> str:
        """The attribute that is read last, if it is one."""
        kind, key = self.path[-1] if self.path else ("", "")
        return str(key) if kind == "attribute" else ""


@dataclass(frozen=True, slots=True, eq=False)
class Capture:
    """What stood behind a read when the function was called."""

    read: Read
    frame: Frame  # the function's own surroundings
    value: Value
    content: Any
    holder: Value | None = None  # the object or dict that it was found in


@remembered
def _chains_in(function: ast.AST) -> tuple[Read, ...]:
    """All that a function reads by names, its parameters' attributes included, once each."""
    by_text: dict[str, Read] = {}
    inner: set[ast.AST] = set()
    for node in walked(function):
        read = None if node in inner else _read(node)
        if read is not None:
            by_text.setdefault(read.text, read)
            inner.update(walked(read.syntax))
    return tuple(by_text.values())


def _read(node: ast.AST) -> Read | None:
    """The longest chain of attributes and constant keys on a name that a node is."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        return None
    if not isinstance(node.ctx, ast.Load):
        return None
    path: list[tuple[str, object]] = []
    base: ast.expr = node
    while not isinstance(base, ast.Name):
        if len(path) == _LONGEST:
            return None
        if isinstance(base, ast.Attribute):
            path.append(("attribute", base.attr))
        elif isinstance(base, ast.Subscript) and isinstance(base.slice, ast.Constant):
            path.append(("key", base.slice.value))
        else:
            return None
        base = base.value
    return Read(node, base.id, tuple(reversed(path)))


@remembered
def _own_names(function: ast.AST) -> set[str]:
    """Names that mean something inside of a function: parameters and what it assigns."""
    names: set[str] = set()
    for node in walked(function):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node is not function:
            names.add(node.name)
    return names


def captures(
    machine: Interpreter, transformed: Transformed, owner: Value | None, given: Given
) -> list[Capture]:
    """What a transformed function would read now.

    `owner` stands for its first parameter, if that is taken as it is: `self` of a method. `given`
    are the arguments, by position and by name.
    """
    found: list[Capture] = []
    value: Value = transformed.function
    while isinstance(value, (Bound, Transformed, Partial)):
        value = value.function
    method = _call_method(value)
    if method is not None:
        _collect(machine, method, value, found, set(), 0)
    if isinstance(value, Function):
        _collect(machine, value, owner, found, set(), 0)
        if value is transformed.function:
            found.extend(_defaults(value, *given))
    return found


def _defaults(
    function: Function, args: list[Value], keywords: dict[str, Value]
) -> Iterator[Capture]:
    """The arrays that stand in for arguments that are not given: no arguments of the program."""
    syntax = function.syntax.args
    by_position = syntax.args[len(syntax.args) - len(syntax.defaults) :]
    written = {it.arg: default for it, default in zip(by_position, syntax.defaults, strict=True)}
    for name in positional_names(function)[len(args) :]:
        value = None if name in keywords else default_of(function, name)
        if isinstance(value, Data) and name in written:
            read = Read(written[name], name)
            yield Capture(read, function.frame, value, content(value))


def _collect(
    machine: Interpreter,
    function: Function,
    owner: Value | None,
    found: list[Capture],
    seen: set[ast.AST],
    depth: int,
) -> None:
    if function.syntax in seen or depth > _DEPTH:
        return
    seen.add(function.syntax)
    own = _own_names(function.syntax)
    parameters = function.syntax.args.args
    first = parameters[0].arg if parameters and owner is not None else ""
    for read in _chains_in(function.syntax):
        if read.name == first:
            base = owner
        elif read.name in own:
            continue
        else:
            base = machine.lookup(function.frame, read.name)
        value, read, holder = _part(base, read)
        if isinstance(value, Function):
            _collect(machine, value, None, found, seen, depth + 1)
        elif isinstance(value, Bound) and isinstance(value.function, Function):
            _collect(machine, value.function, value.owner, found, seen, depth + 1)
        elif (method := _call_method(value)) is not None:
            if read.text in _called_in(function.syntax):
                _collect(machine, method, value, found, seen, depth + 1)
        elif isinstance(value, (Constant, Data, Sequence, Mapping)):
            found.append(Capture(read, function.frame, value, content(value), holder))


def _call_method(value: Value | None) -> Function | None:
    """What is run when an object of the project is called."""
    method = value.cls.find("__call__") if isinstance(value, Instance) else None
    return method if isinstance(method, Function) else None


@remembered
def _called_in(function: ast.AST) -> set[str]:
    """What a function calls, as it is written."""
    return {text_of(it.func) for it in each(function, ast.Call)}


def _part(base: Value | None, read: Read) -> tuple[Value | None, Read, Value | None]:
    """What a read finds, as much of the read as leads there, and in what it is found.

    Arrays have no parts here.
    """
    syntax, found = read.syntax, base
    holder: Value | None = None
    pieces: list[ast.expr] = []
    while isinstance(syntax, (ast.Attribute, ast.Subscript)):
        pieces.append(syntax)
        syntax = syntax.value
    for number, (kind, key) in enumerate(read.path):
        if isinstance(found, Instance) and kind == "attribute":
            holder, found = found, _attribute(found, str(key))
            if is_property(holder.cls.find(str(key))):
                return found, read, holder
        elif isinstance(found, Class) and kind == "attribute":
            holder, found = found, found.find(str(key))
        elif isinstance(found, Mapping) and kind == "key":
            holder, found = found, found.items.get(key)
        elif isinstance(found, Sequence) and (part := _element(found, key)) is not None:
            holder, found = found, part
        elif isinstance(found, Data) and key not in STATIC_ATTRIBUTES:
            syntax = pieces[len(pieces) - number] if number else syntax
            return found, Read(syntax, read.name, read.path[:number]), holder
        else:
            return None, read, None
    return found, read, holder


def _attribute(owner: Instance, name: str) -> Value | None:
    """What an object has by a name: of its own, or of its class, with its methods bound.

    The default of a field is what an object has unless it was given something else.
    """
    shared = owner.cls.find(name)
    if isinstance(shared, Partial) and is_property(shared):
        shared = shared.args[0]
    if isinstance(shared, Function):
        return Bound(shared, owner)
    return owner.attributes.get(name, None if name in all_fields(owner.cls) else shared)


def _element(value: Sequence, key: object) -> Value | None:
    """A field of a named tuple, or an element of a tuple; nobody can change them."""
    items = value.items if value.kind == "tuple" else None
    fields = list(all_fields(value.type)) if value.type is not None else []
    position = fields.index(str(key)) if key in fields else key
    if items is None or type(position) is not int or not -len(items) <= position < len(items):
        return None
    return items[position]


def content(value: Value, depth: int = 0) -> Any:
    """What makes a value the same as another one; `None` if that is not known."""
    if isinstance(value, Constant):
        return (type(value.value).__name__, value.value)
    if isinstance(value, Data):
        return None if value.node.writes is None else (value.node, value.node.writes)
    if depth < 4 and isinstance(value, Sequence) and value.items is not None:
        parts = [content(item, depth + 1) for item in value.items]
        return None if None in parts else tuple(parts)
    if depth < 4 and isinstance(value, Mapping) and not value.is_open:
        found = {key: content(item, depth + 1) for key, item in value.items.items()}
        return None if None in found.values() else found
    return None
