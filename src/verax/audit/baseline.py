"""Findings that are known already: `--baseline` and `--write-baseline`.

A finding is known by its code, its file and the text of its line, so that it stays known when lines
above it come and go. A line that holds it twice counts twice.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from .errors import UsageError
from .finding import Engine, Finding, Place
from .report import Report
from .source import reading
from .source.reading import SourceText, UnreadableError

SCHEMA = "verax.baseline/1"

Read = Callable[[str], SourceText]


class Known(NamedTuple):
    """What makes a finding known; `file` is relative to the baseline's folder, with slashes."""

    code: str
    file: str
    text: str


@dataclass(frozen=True)
class Baseline:
    """How often each finding was there, and which were found by tracing."""

    file: str
    counts: Mapping[Known, int]
    traced: frozenset[Known] = frozenset()


def read_baseline(file: str) -> Baseline:
    """The baseline in a file.

    Raises:
        UsageError: There is none.
    """
    where = f"--baseline {file}"
    try:
        data = json.loads(Path(file).read_bytes())
    except FileNotFoundError:
        raise UsageError(
            f"{where}: there is no such file; write one with --write-baseline {file}"
        ) from None
    except OSError as error:
        raise UsageError(f"{where}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: is no JSON; write it with --write-baseline") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise UsageError(f"{where}: is no baseline of schema {SCHEMA}")
    counts: Counter[Known] = Counter()
    traced: set[Known] = set()
    try:
        for entry in cast(list[dict[str, Any]], data["findings"]):
            known = Known(str(entry["code"]), str(entry["file"]), str(entry["text"]))
            counts[known] += int(entry["count"])
            if entry["engine"] == Engine.TRACE:
                traced.add(known)
    except (KeyError, TypeError, ValueError):
        raise UsageError(f"{where}: is damaged; write it with --write-baseline") from None
    return Baseline(file, counts, frozenset(traced))


def as_baseline(report: Report, file: str, read: Read = reading.read) -> str:
    """The findings of a report as the text of a baseline that will lie in `file`."""
    lines = _Lines(read)
    counts: Counter[Known] = Counter()
    engines: dict[Known, str] = {}
    for finding in report.findings:
        known = _known(finding, file, lines)
        counts[known] += 1
        engines[known] = finding.engine.value
    findings = [
        {**known._asdict(), "count": count, "engine": engines[known]}
        for known, count in sorted(counts.items(), key=lambda it: (it[0].file, *it[0]))
    ]
    return json.dumps({"schema": SCHEMA, "findings": findings}, indent=2) + "\n"


def without_known(
    report: Report,
    baseline: Baseline,
    audited: Iterable[str] = (),
    keeps: Callable[[str], bool] = lambda code: True,
    read: Read = reading.read,
) -> Report:
    """The report without known findings, with a note of how many, and of how many are gone.

    One is gone if its file is, or lies in one of the files and folders that were `audited`, and its
    code was asked for, which `keeps` tells.
    """
    left = Counter(baseline.counts)
    lines = _Lines(read)

    def is_new(finding: Finding) -> bool:
        known = _known(finding, baseline.file, lines)
        left[known] -= 1
        return left[known] < 0

    issues = tuple(it for it in report.issues if is_new(it))
    warnings = tuple(it for it in report.warnings if is_new(it))
    notes = list(report.notes)
    gone = len(report.findings) - len(issues) - len(warnings)
    if gone:
        notes.append(f"{_count(gone, 'finding')} known in {baseline.file}")
    folders = [os.path.realpath(path) for path in audited]
    stale = sum(
        count
        for known, count in left.items()
        if count > 0 and keeps(known.code) and _was_looked_for(known, baseline, folders)
    )
    if stale:
        notes.append(
            f"{baseline.file}: {_count(stale, 'known finding')} "
            f"{'is' if stale == 1 else 'are'} gone; write it anew with --write-baseline"
        )
    return replace(report, issues=issues, warnings=warnings, notes=tuple(notes))


def _was_looked_for(known: Known, baseline: Baseline, folders: list[str]) -> bool:
    path = Path(os.path.realpath(_folder(baseline.file)), known.file)
    if not path.exists():
        return True
    # What only a trace finds is gone when the same function was traced, which we cannot tell.
    return known not in baseline.traced and any(path.is_relative_to(it) for it in folders)


def _known(finding: Finding, file: str, lines: _Lines) -> Known:
    place = finding.place
    if not os.path.isabs(place.file):
        return Known(finding.code, place.file, lines.text(place))
    try:
        shown = os.path.relpath(os.path.realpath(place.file), os.path.realpath(_folder(file)))
    except ValueError:  # on another drive
        shown = place.file
    return Known(finding.code, shown.replace(os.sep, "/"), lines.text(place))


def _folder(file: str) -> str:
    return os.path.dirname(os.path.abspath(file))


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


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
