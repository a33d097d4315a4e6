"""Where the parts of a value are written, in an expression that puts them together."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator

from ...finding import Place
from ..classes import all_fields
from ..events import Event
from ..frame import Frame
from ..graph import Node
from ..values import Constant, Data, Mapping, Sequence, Value, class_of, nodes_of
from .structures.structure import parts_of


def written_at(frame: Frame, syntax: ast.AST, value: Value, part: Node) -> ast.AST:
    """The innermost expression that stands for a part of a value; the whole if none is found.

    A state is often put together over many lines, of which one is of interest, and given a name
    before it is returned.
    """
    whole = syntax.value if isinstance(syntax, ast.Return) else syntax
    made = _made(frame, value) if isinstance(whole, ast.Name) else None
    held, written = parts_of(value), expressions_of(made or whole, value)
    for key, inner in written.items():
        if part in nodes_of(held[key]):
            return written_at(frame, inner, held[key], part)
    # A function that returns the whole does not show its parts: what counts is who hands it on.
    return made if made is not None and written else syntax


def handed_number_at(value: Value | None, user: Frame | None) -> Place | None:
    """Where numbers are written that a function was handed; `None` for those of its own.

    A constant with a name, of a file or a class, is right elsewhere: it is chosen where it is used.
    """
    for number in _constants(value):
        if number.value is not None and number.origin is not None:
            frame, syntax = number.origin
            is_outside = frame.function is None or isinstance(frame.function, ast.ClassDef)
            is_named = is_outside and any(
                it is value or it is number for it in frame.environment.values()
            )
            is_own = frame is user or is_named or _is_default(user, syntax)
            return None if is_own else frame.place(syntax)
    return None


def _constants(value: Value | None) -> Iterator[Constant]:
    """The constants in a value, be it a tuple or a dict: `in_axes=(None, {"x": axis})`."""
    if isinstance(value, Constant):
        yield value
    elif isinstance(value, (Sequence, Mapping)):
        for part in parts_of(value).values():
            yield from _constants(part)


def _is_default(user: Frame | None, syntax: ast.AST) -> bool:
    """Whether a function itself says what a parameter is, for who does not."""
    function = user.function if user is not None else None
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        return False
    return any(it is syntax for it in (*function.args.defaults, *function.args.kw_defaults))


def decided_at(call: Event, value: Value | None) -> Place:
    """Where is said along which axis a call goes: there, or where a function tells its function.

    What is made at the top of a file, `partial(softmax, axis=0)`, is chosen where it is used.
    """
    origins = [it.origin for it in _constants(value) if it.origin is not None]
    is_at_top = any(frame.function is None for frame, _ in origins)
    return (None if is_at_top else handed_number_at(value, call.frame)) or call.place


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
    """The fields of a record, in the order of its constructor, unless that is the user's own."""
    cls = class_of(value)
    return list(all_fields(cls)) if cls is not None and cls.find("__init__") is None else []
