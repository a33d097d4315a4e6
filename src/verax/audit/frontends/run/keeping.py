"""What is kept of a run: what its recorder has seen, in the form of `observations`."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

from ...render._places import short_file
from ...report import Report
from ...source.definitions import LAMBDA, Definition, definitions, digest_at
from ...source.reading import Problem, UnreadableError, parse
from ...source.reading import read as read_source
from ...trace.places import UserCode
from .calls import Call, Origin, named_arguments, origin_of_code
from .leaves import leaves_of, ranges_of
from .observations import TRACED, Function, Leaf, Observations, Range, Signature, of_report
from .recorder import Recorder


def observations_of(recorder: Recorder, report: Report, started: float) -> Observations:
    """What was seen in a run that began at a time, and what there was to report of it.

    Only functions of the program count, and files are relative to the working directory, which is
    the folder of the store.
    """
    folder, files, user_code = Path.cwd(), _Files(started), UserCode()
    functions: dict[Function, dict[Signature, dict[str, Range]]] = defaultdict(dict)

    def function(kind: str, origin: Origin) -> Function:
        digest = files.digest(origin)
        return Function(kind, origin.name, short_file(origin.file, folder), origin.line, digest)

    for seen in recorder.functions.values():
        if user_code.owns(seen.origin.file):
            own = functions[function(seen.kind, seen.origin)]
            for at, call in enumerate(seen.calls):
                own[_signature(call)] = _ranges(call) if at == 0 else {}
    for code, signatures in recorder.bodies.signatures.items():
        own = functions[function(TRACED, origin_of_code(code))]
        own.update((signature, {}) for signature in sorted(signatures))
    return Observations(of_report(report).runs, dict(sorted(functions.items())))


def _signature(call: Call) -> Signature:
    found: list[Leaf] = []
    for name, is_static, value in named_arguments(call):
        found += leaves_of(name, value, is_traced=not is_static)
    return tuple(found)


def _ranges(call: Call) -> dict[str, Range]:
    found: dict[str, Range] = {}
    for name, is_static, value in named_arguments(call):
        found |= {} if is_static else ranges_of(name, value)
    return found


class _Files:
    """The definitions in the program's files, as they were when it ran."""

    def __init__(self, started: float):
        self._started = started
        self._known: dict[str, list[Definition]] = {}

    def digest(self, origin: Origin) -> str:
        """What identifies the text of a function; empty where that is not known."""
        if origin.file not in self._known:
            self._known[origin.file] = self._read(origin.file)
        return digest_at(self._known[origin.file], origin.line, origin.name.endswith(LAMBDA))

    def _read(self, file: str) -> list[Definition]:
        try:
            if os.stat(file).st_mtime > self._started:
                return []  # It may be other code than what has run.
            source = read_source(file)
        except (OSError, UnreadableError):
            return []
        tree = parse(source)
        return [] if isinstance(tree, Problem) else list(definitions(tree, source.text))
