"""By what a finding is recognised when its file has changed: its code, its file, its line's text.

So it stays the same when lines above it come and go.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from .finding import Finding, Place
from .source import reading
from .source.reading import SourceText, UnreadableError

Read = Callable[[str], SourceText]


class Known(NamedTuple):
    """What makes a finding known; `file` is relative to some folder, with slashes."""

    code: str
    file: str
    text: str


class Recogniser:
    """Makes findings known, with files relative to `folder`; `read` gives their texts."""

    def __init__(self, folder: str, read: Read = reading.read):
        self._folder = os.path.realpath(folder)
        self._lines = _Lines(read)

    def known(self, finding: Finding) -> Known:
        """What a finding is recognised by."""
        return Known(finding.code, self._file(finding.place.file), self._lines.text(finding.place))

    def _file(self, file: str) -> str:
        if not os.path.isabs(file):
            return file
        try:
            shown = os.path.relpath(os.path.realpath(file), self._folder)
        except ValueError:  # on another drive
            shown = file
        return shown.replace(os.sep, "/")


class _Lines:
    """The lines of files, each read once."""

    def __init__(self, read: Read):
        self._read = read
        self._known: dict[str, dict[tuple[int, int], str]] = {}

    def text(self, place: Place) -> str:
        """The line at a place with its spaces evened out; empty where it cannot be read."""
        if place.file not in self._known:
            self._known[place.file] = self._lines(place.file)
        return self._known[place.file].get((place.cell, place.line), "")

    def _lines(self, file: str) -> dict[tuple[int, int], str]:
        try:
            source = self._read(file)
        except UnreadableError:
            return {}
        lines = enumerate(source.text.split("\n"), 1)
        return {source.position(number): " ".join(line.split()) for number, line in lines}
