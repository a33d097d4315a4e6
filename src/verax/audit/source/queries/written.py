"""Where the parts of a value are written, in an expression that puts them together."""

from __future__ import annotations

import ast
from collections.abc import Hashable

from ...finding import Place
from ..classes import all_fields
from ..frame import Frame
from ..graph import Node
from ..values import Class, Constant, Data, Sequence, Value, nodes_of
from .structures.structure import parts_of


def written_at(frame: Frame, syntax: ast.AST, value: Value, part: Node) -> ast.AST:
    """The innermost expression that stands for a part of a value; the whole if none is found.

    A state is often put together over many lines, of which one is of interest, and given a name
    before it is returned.
    """
    whole = syntax.value if isinstance(syntax, ast.Return) else syntax
    made = _made(frame, value) if isinstance(whole, ast.Name) else None
    held = parts_of(value)
    for key, inner in expressions_of(made or whole, value).items():
        if part in nodes_of(held[key]):
            return written_at(frame, inner, held[key], part)
    return made or syntax


def handed_number_at(value: Value | None, user: Frame | None) -> Place | None:
    """Where numbers are written that a function was handed; `None` for those of its own.

    A constant with a name, at the top of a file, is right elsewhere: it is chosen where it is used.
    """
    numbers = value.items or () if isinstance(value, Sequence) else (value,)
    for number in numbers:
        if isinstance(number, Constant) and number.origin is not None:
            frame, syntax = number.origin
            is_named = frame.function is None and any(
                it is value or it is number for it in frame.environment.values()
            )
            return None if frame is user or is_named else frame.place(syntax)
    return None


def _made(frame: Frame, value: Value) -> ast.expr | None:
    """The expression that made a container which a function has given a name."""
    if isinstance(value, Data):
        return None
    for statement, made in reversed(frame.steps):
        if made is value and isinstance(statement, ast.Assign):
            return statement.value
    return None


def expressions_of(syntax: ast.AST | None, value: Value) -> dict[Hashable, ast.expr]:
    """The expressions that a tuple, a dict or an object is made of, by position, key or name."""
    held = parts_of(value)
    if isinstance(syntax, (ast.Tuple, ast.List)):
        is_whole = len(held) == len(syntax.elts)
        return dict(zip(held, syntax.elts, strict=True)) if is_whole else {}
    if isinstance(syntax, ast.Dict):
        named = zip(syntax.keys, syntax.values, strict=True)
        written = {key.value: inner for key, inner in named if isinstance(key, ast.Constant)}
    elif isinstance(syntax, ast.Call):
        written: dict[Hashable, ast.expr] = dict(zip(_fields(value), syntax.args, strict=False))
        written |= {it.arg: it.value for it in syntax.keywords if it.arg is not None}
    else:
        return {}
    return {key: inner for key, inner in written.items() if key in held}


def _fields(value: Value) -> list[str]:
    """The fields of a record, in the order of its constructor."""
    cls = value.type if isinstance(value, Sequence) else getattr(value, "cls", None)
    return list(all_fields(cls)) if isinstance(cls, Class) else []
