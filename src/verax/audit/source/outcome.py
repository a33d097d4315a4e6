"""What the audit of one file gives, and the texts that it reads: without what audits it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..report import Report
from . import reading
from .reading import Problem, SourceText, UnreadableError


@dataclass(frozen=True)
class Outcome:
    """What one file told.

    `digests` identify its content and that of every file that was read for it, and `kinds` say what
    was at the paths where something was looked for: see `disk`. `has_comments` says whether it may
    hold `# verax:` comments, `failed` whether verax itself failed there, `observed`
    how many of its functions were followed on what they were called with in a run.
    """

    report: Report
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    has_comments: bool = False
    failed: bool = False
    uses_jax: bool = True
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    observed: int = 0


# The digest of what may not be read: that of no file.
_OUTSIDE = "!outside"


def is_within(path: str, folder: str) -> bool:
    """Whether a path, with all links followed, leads to a folder or to what lies in it."""
    real, top = os.path.realpath(path), os.path.realpath(folder)
    return real == top or real.startswith(top.rstrip(os.sep) + os.sep)


class Texts:
    """Texts of files, each read once. `given` holds what is not in a file: standard input.

    With `within`, files outside of that folder are not read, wherever a link to them lies.
    """

    def __init__(
        self,
        max_bytes: int = reading.DEFAULT_MAX_BYTES,
        given: Mapping[str, bytes] | None = None,
        within: str = "",
    ):
        self.within: str = within
        self._max_bytes = max_bytes
        self._given = given or {}
        self._known: dict[str, SourceText | UnreadableError] = {}

    def read(self, path: str) -> SourceText:
        """The text of a file.

        Raises:
            UnreadableError: There is none.
        """
        if path not in self._known:
            try:
                self._known[path] = self._read(path)
            except UnreadableError as error:
                self._known[path] = error
        known = self._known[path]
        if isinstance(known, UnreadableError):
            raise known.with_traceback(None)
        return known

    def _read(self, path: str) -> SourceText:
        if path in self._given:
            return reading.read_given(self._given[path], path, self._max_bytes)
        if self.within and not is_within(path, self.within):
            raise UnreadableError(Problem(path, 0, f"it lies outside of {self.within}"), _OUTSIDE)
        return reading.read(path, self._max_bytes)

    def digest(self, path: str) -> str:
        """What identifies the content that was read, or that of a file that cannot be read."""
        known = self._known.get(path)
        return reading.digest_of_file(path) if known is None else known.digest
