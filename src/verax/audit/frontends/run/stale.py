"""Which functions are still what they were when they were seen."""

from __future__ import annotations

import os

from ...source.reading import Problem, UnreadableError, parse, read
from .definitions import definitions
from .observations import Observations


def changed(seen: Observations, folder: str) -> list[str]:
    """The names of functions whose text is another now, or is gone."""
    digests: dict[str, set[str]] = {}
    found: dict[str, None] = {}
    for function in sorted(seen.functions, key=lambda it: (it.file, it.line)):
        file = os.path.join(folder, function.file)
        if file not in digests:
            digests[file] = _digests(file)
        if function.digest and function.digest not in digests[file]:
            found[function.name] = None
    return list(found)


def _digests(file: str) -> set[str]:
    try:
        source = read(file)
    except UnreadableError:
        return set()
    tree = parse(source)
    return (
        set() if isinstance(tree, Problem) else {it.digest for it in definitions(tree, source.text)}
    )
