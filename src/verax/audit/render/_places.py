"""Files as they are shown: relative to the working directory, where they are below it."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import TypeVar

from ..finding import Place
from ..places import map_places
from ..report import Report

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

    changed = map_places(value, shorten)
    if isinstance(changed, Report):
        notes = tuple(_short_note(note, here) for note in changed.notes)
        return dataclasses.replace(changed, notes=notes)
    return changed


def short_file(file: str, here: Path) -> str:
    """One file's name as it is shown; a name that is no path (a notebook's cell) stays."""
    if not os.path.isabs(file):
        return file
    for folder in (here, here.resolve()):
        if Path(file).is_relative_to(folder):
            return str(Path(file).relative_to(folder))
    return file


def _short_note(note: str, here: Path) -> str:
    """A note that begins with a file of this folder, with that file as it is shown."""
    for folder in (here, here.resolve()):
        if note.startswith(f"{folder}{os.sep}"):
            return note[len(str(folder)) + 1 :]
    return note
