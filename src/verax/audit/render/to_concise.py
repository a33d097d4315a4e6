"""A report as one line a finding, for a first look and for editors that jump to places."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Confidence, Finding
from ..plain import inert, one_line
from ..report import Report
from ._places import with_short_files
from ._summary import notes_of, summary


def render(report: Report) -> str:
    """One line a finding, as `file:line:column: CODE severity: title`, then the summary."""
    return inert("\n".join(_report(with_short_files(report))) + "\n")


def _report(report: Report) -> Iterator[str]:
    for issue in report.issues:
        yield _line(issue, str(issue.severity))
    for warning in report.warnings:
        yield _line(warning, "warning")
    for note in notes_of(report):
        yield f"note: {one_line(note)}"
    yield summary(report)


def _line(finding: Finding, kind: str) -> str:
    place = finding.place
    likely = " (likely)" if finding.confidence is Confidence.LIKELY else ""
    return one_line(f"{place}:{place.column}: {finding.code} {kind}{likely}: {finding.title}")
