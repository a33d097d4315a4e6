"""The modules of a project (a stand-in until the interpreter brings its own)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from . import reading
from .reading import SourceText


class Project:
    """Reads what lies below the roots of its imports."""

    def __init__(self, roots: Sequence[str], read: Callable[[str], SourceText] = reading.read):
        self.roots = tuple(roots)
        self.read = read
