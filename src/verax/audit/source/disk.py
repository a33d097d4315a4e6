"""What an audit asks of the file system, so that the cache knows what a report depends on.

A report depends on the content of some files, and on what is, or is not, at other paths: a module
that is looked for in three folders and found in the second depends on there being nothing in the
first. Every such question goes through a `Disk`, which notes it. The answers are kept beside the
report, and it is out of date as soon as one of them is another one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Hashable
from typing import Literal, NamedTuple, TypeVar

from . import reading
from .reading import SourceText

_Answer = TypeVar("_Answer")
_Key = TypeVar("_Key", bound=Hashable)

FILE, FOLDER, NEITHER = "file", "folder", ""


class Question(NamedTuple):
    """What somebody wanted to know of a path: its content, or what kind of thing is there."""

    about: Literal["content", "kind"]
    path: str


class Disk:
    """The file system as an audit sees it. `asked` are the questions since the last `start`."""

    def __init__(self, read: Callable[[str], SourceText] = reading.read):
        self._read = read
        self._kinds: dict[str, str] = {}
        self.asked: set[Question] = set()

    def start(self) -> None:
        """Forget what was asked."""
        self.asked = set()

    def read(self, path: str) -> SourceText:
        """The text of a file.

        Raises:
            UnreadableError: There is none.
        """
        self.asked.add(Question("content", path))
        return self._read(path)

    def is_file(self, path: str) -> bool:
        """Whether there is a file, or a link to one."""
        return self._kind(path) == FILE

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder, or a link to one."""
        return self._kind(path) == FOLDER

    def _kind(self, path: str) -> str:
        self.asked.add(Question("kind", path))
        found = self._kinds.get(path)
        if found is None:
            found = self._kinds[path] = kind_of(path)
        return found

    def contents(self) -> list[str]:
        """The files whose content was asked for, in order."""
        return sorted(it.path for it in self.asked if it.about == "content")

    def kinds(self) -> dict[str, str]:
        """What was at the paths where somebody looked for something, in order."""
        paths = sorted(it.path for it in self.asked if it.about == "kind")
        return {path: self._kinds[path] for path in paths}

    def once(
        self,
        known: dict[_Key, tuple[_Answer, frozenset[Question]]],
        key: _Key,
        answer: Callable[[], _Answer],
    ) -> _Answer:
        """An answer that is worked out once; what it depends on is noted whenever it is used."""
        if key not in known:
            before, self.asked = self.asked, set()
            try:
                known[key] = answer(), frozenset(self.asked)
            finally:
                self.asked |= before
        found, questions = known[key]
        self.asked |= questions
        return found


def kind_of(path: str) -> str:
    """What is at a path, or where the link there leads to."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return NEITHER
    return FILE if stat.S_ISREG(mode) else FOLDER if stat.S_ISDIR(mode) else NEITHER
