"""What has become of functions that were seen, and what a static analysis can use of them."""

from __future__ import annotations

import os

from ...source.definitions import definitions
from ...source.observed import Parameter, encoded
from ...source.reading import Problem, UnreadableError, parse, read
from .observations import TRACED, Observations, Signature, agreed


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


def parameters_by_file(seen: Observations, folder: str) -> dict[str, str]:
    """What a static analysis can use of what was seen, by the real paths of files.

    Whether a function is still the same is left to that: it reads the files anyway.
    """
    files: dict[str, dict[tuple[str, str], dict[str, Parameter]]] = {}
    for (file, name, digest), signatures in _traced(seen).items():
        arrays = agreed(signatures)
        keys = {it.name for signature in signatures for it in signature if it.is_key}
        parameters = {it: Parameter(*array, it in keys) for it, array in arrays.items()}
        if parameters:
            path = os.path.realpath(os.path.join(folder, file))
            files.setdefault(path, {})[name, digest] = parameters
    return {path: encoded(own) for path, own in files.items()}


def _traced(seen: Observations) -> dict[tuple[str, str, str], set[Signature]]:
    """What the code of each function has seen, wherever in its file that stood."""
    found: dict[tuple[str, str, str], set[Signature]] = {}
    for it, signatures in seen.functions.items():
        if it.kind == TRACED and it.digest:
            found.setdefault((it.file, it.name, it.digest), set()).update(signatures)
    return found


def _digests(file: str) -> set[str]:
    try:
        source = read(file)
    except UnreadableError:
        return set()
    tree = parse(source)
    return (
        set() if isinstance(tree, Problem) else {it.digest for it in definitions(tree, source.text)}
    )
