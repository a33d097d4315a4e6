"""Findings that are known already: `--baseline` and `--write-baseline`.

A line that holds a finding twice counts twice.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from .errors import UsageError
from .files import read_bytes
from .finding import Engine, Finding
from .recognise import Known, Read, Recogniser
from .report import Report
from .source import reading

SCHEMA = "verax.baseline/1"


@dataclass(frozen=True)
class Baseline:
    """How often each finding was there, and which were found by tracing.

    Files of findings are relative to the baseline's folder.
    """

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
        data = json.loads(read_bytes(file))
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
            counts[known] += _positive(entry["count"])
            if entry["engine"] == Engine.TRACE:
                traced.add(known)
    except (KeyError, TypeError, ValueError):
        raise UsageError(f"{where}: is damaged; write it with --write-baseline") from None
    return Baseline(file, counts, frozenset(traced))


def _positive(count: object) -> int:
    """How often a finding was there: no fraction, and no number that nobody can print.

    Raises:
        ValueError: It is none.
    """
    if type(count) is not int or not 0 < count <= sys.maxsize:
        raise ValueError(count)
    return count


def as_baseline(report: Report, file: str, read: Read = reading.read) -> str:
    """The findings of a report as the text of a baseline that will lie in `file`."""
    recogniser = Recogniser(_folder(file), read)
    counts: Counter[Known] = Counter()
    engines: dict[Known, str] = {}
    for finding in report.findings:
        known = recogniser.known(finding)
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
    recogniser = Recogniser(_folder(baseline.file), read)

    def is_new(finding: Finding) -> bool:
        known = recogniser.known(finding)
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
    if not os.path.exists(path):  # `Path` raises where a name is too long
        return True
    # What only a trace finds is gone when the same function was traced, which we cannot tell.
    return known not in baseline.traced and any(path.is_relative_to(it) for it in folders)


def _folder(file: str) -> str:
    return os.path.dirname(os.path.abspath(file))


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
