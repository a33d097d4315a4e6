"""Files as they are shown: relative to the working directory, where they are below it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from ..finding import Place

_T = TypeVar("_T")


def with_short_files(value: _T) -> _T:
    """A report, or a part of one, with every file as it is shown."""
    here = Path.cwd()
    known: dict[str, str] = {}

    def shorten(place: Place) -> Place:
        if place.file not in known:
            known[place.file] = short_file(place.file, here)
        short = known[place.file]
        return place if short == place.file else dataclasses.replace(place, file=short)

    return cast(_T, _map_places(value, shorten))


def short_file(file: str, here: Path) -> str:
    """One file's name as it is shown; a name that is no path (a notebook's cell) stays."""
    if not os.path.isabs(file):
        return file
    for folder in (here, here.resolve()):
        if Path(file).is_relative_to(folder):
            return str(Path(file).relative_to(folder))
    return file


def _map_places(value: Any, change: Callable[[Place], Place]) -> Any:
    if isinstance(value, Place):
        return change(value)
    if isinstance(value, tuple):
        items = cast(tuple[Any, ...], value)
        changed = tuple(_map_places(item, change) for item in items)
        same = all(new is old for new, old in zip(changed, items, strict=True))
        return items if same else changed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes: dict[str, Any] = {}
        for field in dataclasses.fields(value):
            old = getattr(value, field.name)
            new = _map_places(old, change)
            if new is not old:
                changes[field.name] = new
        return dataclasses.replace(value, **changes) if changes else value
    return value
