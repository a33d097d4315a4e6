"""Where the parts of a value are written, in an expression that puts them together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ..classes import all_fields
from ..frame import Frame
from ..graph import Node
from ..values import Class, Data, Instance, Mapping, Sequence, Value, nodes_of


def written_at(frame: Frame, syntax: ast.AST, value: Value, part: Node) -> ast.AST:
    """The innermost expression that stands for a part of a value; the whole if none is found.

    A state is often put together over many lines, of which one is of interest, and given a name
    before it is returned.
    """
    whole = syntax.value if isinstance(syntax, ast.Return) else syntax
    made = _made(frame, value) if isinstance(whole, ast.Name) else None
    for inner, held in _parts(made or whole, value):
        if part in nodes_of(held):
            return written_at(frame, inner, held, part)
    return made or syntax


def _made(frame: Frame, value: Value) -> ast.expr | None:
    """The expression that made a container which a function has given a name."""
    if isinstance(value, Data):
        return None
    for statement, made in reversed(frame.steps):
        if made is value and isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return statement.value
    return None


def _parts(syntax: ast.AST | None, value: Value) -> Iterator[tuple[ast.expr, Value]]:
    """The expressions that a tuple, a dict or an object is made of, with their values."""
    items = value.items if isinstance(value, Sequence) else None
    if isinstance(syntax, (ast.Tuple, ast.List)) and items is not None:
        if len(items) == len(syntax.elts):
            yield from zip(syntax.elts, items, strict=True)
    elif isinstance(syntax, ast.Dict) and isinstance(value, Mapping):
        for key, inner in zip(syntax.keys, syntax.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in value.items:
                yield inner, value.items[key.value]
    elif isinstance(syntax, ast.Call):
        fields = _fields(value)
        for inner, held in zip(syntax.args, fields.values(), strict=False):
            yield inner, held
        for keyword in syntax.keywords:
            if keyword.arg is not None and keyword.arg in fields:
                yield keyword.value, fields[keyword.arg]


def _fields(value: Value) -> dict[str, Value]:
    """The fields of a record in the order of its constructor, or the items of a dict."""
    if isinstance(value, Mapping):
        return {key: it for key, it in value.items.items() if isinstance(key, str)}
    if isinstance(value, Sequence) and isinstance(value.type, Class) and value.items is not None:
        return dict(zip(all_fields(value.type), value.items, strict=False))
    if isinstance(value, Instance):
        held = value.attributes
        return {name: held[name] for name in all_fields(value.cls) if name in held}
    return {}
