"""Whether a function can be called with some number of arguments."""

from __future__ import annotations

from ..binding import positional_names
from ..values import (
    Bound,
    Data,
    Function,
    Instance,
    Mapping,
    Partial,
    Sequence,
    Transformed,
    Value,
    class_of,
)
from .structures.trees import kind_of


def cannot_take(value: Value, count: int) -> str | None:
    """Why a function cannot be called with this many positional arguments, if it cannot."""
    given, bound = count, set[str]()
    while not isinstance(value, Function):
        if isinstance(value, Partial):
            if value.is_open:
                return None
            given += len(value.args)
            bound |= value.keywords.keys()
            value = value.function
        elif isinstance(value, Bound):
            given += 1
            value = value.function
        elif isinstance(value, Transformed):
            value = value.function
        else:
            return _no_function(value)
    return _mismatch(value, given, bound)


def _no_function(value: Value) -> str | None:
    """That something cannot be called at all."""
    cls = class_of(value)
    if cls is not None and cls.find("__call__") is not None:
        return None
    if isinstance(value, (Sequence, Mapping)):
        kind = kind_of(value)
        return f"is a {kind}, not a function" if kind else None
    if isinstance(value, Data) and value.is_array and value.traced is not None:
        return "is an array, not a function"
    if isinstance(value, Instance) and not value.cls.bases:
        return f"is a {value.cls.name}, not a function"
    return None


def _mismatch(function: Function, given: int, bound: set[str]) -> str | None:
    arguments = function.syntax.args
    names = positional_names(function)
    twice = [name for name in names[:given] if name in bound]
    if twice:
        return f"gets `{twice[0]}` twice, by name and by position"
    required = len(names) - len(function.defaults)
    missing = [name for name in names[given:required] if name not in bound]
    if missing:
        return f"also needs `{missing[0]}`"
    if given > len(names) and arguments.vararg is None:
        takes = f"{len(names)} argument{'' if len(names) == 1 else 's'}"
        return f"takes {takes}, and gets {given}"
    unnamed = [
        argument.arg
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is None and argument.arg not in bound
    ]
    return f"also needs `{unnamed[0]}`" if unnamed else None
