"""Whether data of ours that came from elsewhere has the types that it says.

Python does not check what a dataclass is made of, and what reads the data later relies on it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import cache
from typing import Any, Union, get_args, get_origin


def conforms(value: object, hint: Any) -> bool:
    """Whether a value is of a type, and so are all fields and elements in it."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return any(conforms(value, option) for option in get_args(hint))
    if origin in (tuple, frozenset):
        return isinstance(value, origin) and _all_conform(value, get_args(hint))
    if hint is None or hint is types.NoneType:
        return value is None
    if hint is float:
        return type(value) in (int, float)
    # `True` is no number.
    is_right = isinstance(value, bool) if hint is bool else _is_of(value, hint)
    if not is_right or not dataclasses.is_dataclass(hint):
        return is_right
    return all(conforms(getattr(value, name), field) for name, field in _fields(hint))


def _is_of(value: object, hint: Any) -> bool:
    return isinstance(value, hint) and not isinstance(value, bool)


def _all_conform(value: Any, hints: tuple[Any, ...]) -> bool:
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(conforms(it, hints[0]) for it in value)
    if hints and len(hints) == 1 and isinstance(value, frozenset):
        return all(conforms(it, hints[0]) for it in value)
    return len(value) == len(hints) and all(map(conforms, value, hints))


@cache
def _fields(cls: Any) -> tuple[tuple[str, Any], ...]:
    hints = typing.get_type_hints(cls)
    return tuple((it.name, hints[it.name]) for it in dataclasses.fields(cls))
