"""Findings that the user has answered: `# verax: ignore[CODE] reason` in their line."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from .finding import Finding
from .report import Report
from .rules.registry import UnknownRuleError, code_prefix

_COMMENT = re.compile(r"#\s*verax:\s*ignore\b\s*(\[(?P<codes>[^\]]*)\])?")


@dataclass(frozen=True)
class Suppressions:
    """The comments of one file: which codes begin how, by line; and what is wrong with them."""

    prefixes: Mapping[int, tuple[str, ...]]
    notes: tuple[str, ...] = ()

    def cover(self, finding: Finding) -> bool:
        """Whether a comment in the finding's line names its code."""
        prefixes = self.prefixes.get(finding.place.line, ())
        return any(finding.code.startswith(prefix) for prefix in prefixes)


def read(source: str, file: str) -> Suppressions:
    """The suppressions in a program's text."""
    prefixes: dict[int, tuple[str, ...]] = {}
    notes: list[str] = []
    for line, comment in _comments(source):
        match = _COMMENT.search(comment)
        if match is None:
            continue
        codes = [code.strip() for code in (match["codes"] or "").split(",") if code.strip()]
        if not codes:
            notes.append(
                f"{file}:{line}: `# verax: ignore` names no code and suppresses nothing; "
                "write `# verax: ignore[CODE] reason`"
            )
        for code in codes:
            try:
                prefixes[line] = (*prefixes.get(line, ()), code_prefix(code))
            except UnknownRuleError as error:
                notes.append(f"{file}:{line}: `# verax: ignore[{code}]`: {error}")
    return Suppressions(prefixes, tuple(notes))


def without_suppressed(report: Report) -> Report:
    """The report without findings that a comment in their line answers, and a note of how many."""
    files = sorted({finding.place.file for finding in report.findings})
    by_file = {file: _of_file(file, _stamp(file)) for file in files}

    def remaining(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
        return tuple(it for it in findings if not by_file[it.place.file].cover(it))

    issues, warnings = remaining(report.issues), remaining(report.warnings)
    notes = [note for file in files for note in by_file[file].notes]
    gone = len(report.findings) - len(issues) - len(warnings)
    if gone:
        notes.append(f"{gone} finding{'s' * (gone != 1)} suppressed by `# verax: ignore`")
    return replace(report, issues=issues, warnings=warnings, notes=(*report.notes, *notes))


def _comments(source: str) -> list[tuple[int, str]]:
    if "verax:" not in source:
        return []
    found: list[tuple[int, str]] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                found.append((token.start[0], token.string))
    except (tokenize.TokenError, SyntaxError):
        pass  # what stands above the error counts
    return found


def _stamp(file: str) -> int:
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=256)
def _of_file(file: str, stamp: int) -> Suppressions:
    del stamp  # only so that a changed file is read again
    try:
        with tokenize.open(file) as lines:
            return read(lines.read(), file)
    except (OSError, SyntaxError, ValueError):
        return Suppressions({})  # a cell of a notebook, or a file that is gone
