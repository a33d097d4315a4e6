"""Where absolute imports start: the folders that would be on Python's path."""

from __future__ import annotations

import os
from collections.abc import Iterable


def import_roots(files: Iterable[str], start: str) -> tuple[str, ...]:
    """Folders in which modules of a project are looked for, by absolute path, the likeliest first.

    For each file that is the folder above its outermost package; then the folder where the audit
    was started, with its `src`.
    """
    roots: dict[str, None] = {}
    known: dict[str, str] = {}
    for file in files:
        roots[_above_package(os.path.dirname(file), known)] = None
    for folder in (os.path.join(start, "src"), start):
        if os.path.isdir(folder):
            roots[folder] = None
    return tuple(roots)


def _above_package(folder: str, known: dict[str, str]) -> str:
    if folder not in known:
        parent = os.path.dirname(folder)
        in_package = parent != folder and os.path.exists(os.path.join(folder, "__init__.py"))
        known[folder] = _above_package(parent, known) if in_package else folder
    return known[folder]
