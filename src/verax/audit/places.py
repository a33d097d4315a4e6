"""Every place in a report, whichever part of it holds one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar, cast

from .finding import Place

_T = TypeVar("_T")


def map_places(value: _T, change: Callable[[Place], Place]) -> _T:
    """A report, or a part of one, with every place changed; what stays the same is not copied."""
    return cast(_T, _mapped(value, change))


def _mapped(value: Any, change: Callable[[Place], Place]) -> Any:
    if isinstance(value, Place):
        return change(value)
    if isinstance(value, tuple):
        items = cast(tuple[Any, ...], value)
        changed = tuple(_mapped(item, change) for item in items)
        same = all(new is old for new, old in zip(changed, items, strict=True))
        return items if same else changed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _mapped(old, change)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes) if changes else value
    return value
