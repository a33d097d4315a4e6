"""A report for coding assistants: three lines a finding, with the edit where there is one.

An assistant pays for each word, and acts on what it reads. So a finding is where and what it is,
why, and what to do; what lays out a report for people is left out. An edit is quoted as JSON does
it, so that what is to be replaced is known to the letter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..finding import Confidence, Edit, Evidence, Finding
from ..plain import inert, one_line
from ..report import Report
from ._places import with_short_files
from ._summary import notes_of, summary

# A text beyond this is cut. An edit is not: it is whole, or left out.
_LONGEST = 500


def render(report: Report) -> str:
    """Three lines a finding, then remarks about the audit, then the summary."""
    lines = [line for finding in findings(report) for line in finding]
    return inert("\n".join([*lines, *remarks(report)]) + "\n")


def findings(report: Report) -> Iterator[tuple[str, str, str]]:
    """The lines of each finding, issues first."""
    short = with_short_files(report)
    for issue in short.issues:
        yield _lines(issue, str(issue.severity))
    for warning in short.warnings:
        yield _lines(warning, "warning")


def remarks(report: Report) -> Iterator[str]:
    """Remarks about the audit, and the summary, a line each."""
    short = with_short_files(report)
    yield from (f"note: {_cut(one_line(note))}" for note in notes_of(short))
    yield summary(short)


def _lines(finding: Finding, kind: str) -> tuple[str, str, str]:
    place = finding.place
    likely = " (likely)" if finding.confidence is Confidence.LIKELY else ""
    function = f", in {place.function}" if place.function else ""
    head = f"{place}:{place.column}: {finding.code} {kind}{likely}: {finding.title}{function}"
    return _cut(one_line(head)), f"  why: {_why(finding)}", f"  fix: {_fix(finding)}"


def _why(finding: Finding) -> str:
    parts = [_quoted(finding.current)]
    parts += [f"expected: {_quoted(finding.expected)}"] * bool(finding.expected)
    if finding.evidence:
        parts.append(f"because {_cut('; '.join(map(_step, finding.evidence)))}")
    return " | ".join(part for part in parts if part)


def _step(step: Evidence) -> str:
    return one_line(step.text) + (f" ({one_line(str(step.place))})" if step.place else "")


def _fix(finding: Finding) -> str:
    parts = [_quoted(finding.fix)] if finding.fix else []
    if finding.edit is not None:
        parts.append(_edit(finding.edit) or "the edit is long: see --format json")
    explained = f"none is known; `verax explain {one_line(finding.code)}` has a right program"
    return " | ".join(parts) or explained


def _edit(edit: Edit) -> str:
    """`edit train.py:3:5 "old" -> "new"`, or nothing if that is too long."""
    old, new = _literal(edit.old), _literal(edit.new)
    if len(old) + len(new) > _LONGEST:
        return ""
    return f"edit {one_line(str(edit.place))}:{edit.place.column} {old} -> {new}"


def _quoted(text: str) -> str:
    """Text in one line; what has several is code, whose line breaks matter."""
    text = text.strip()
    return _cut(_literal(text) if "\n" in text else one_line(text))


def _literal(text: str) -> str:
    # Hosts of logs take `##[` for a command; this way the text stays the same, and valid JSON.
    return json.dumps(text).replace("##", "#\\u0023")


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
