"""A report as commands to GitHub's workflows, which show findings beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Finding, Place, Severity
from ..plain import inert, one_line, plain
from ..report import Report
from ._places import with_short_files
from ._summary import remarks_of, summary


def render(report: Report) -> str:
    """One command a finding, then the summary.

    An issue that makes results wrong or raises is an error there, one that costs time or memory a
    warning, and what verax calls a warning is a notice. So is a remark about the audit. What could
    not be audited is an error, or a warning where that is allowed.
    """
    return "\n".join(_report(with_short_files(report))) + "\n"


def _report(report: Report) -> Iterator[str]:
    for issue in report.issues:
        yield _command("warning" if issue.severity is Severity.MINOR else "error", issue)
    for warning in report.warnings:
        yield _command("notice", warning)
    for failure in report.failures:
        yield _at(failure.place, "error", "verax failed", failure.text)
    for unread in report.unread:
        kind = "warning" if unread.allowed else "error"
        yield _at(unread.place, kind, "not audited", f"cannot be read: {unread.reason}")
    for note in remarks_of(report):
        yield f"::notice::{_message(note)}"
    yield inert(f"{one_line(report.target)}: {summary(report)}")


def error_command(text: str) -> str:
    """The command for what ended an audit before there was a report."""
    return f"::error::{_message(text)}\n"


def _command(kind: str, finding: Finding) -> str:
    lines = [finding.current]
    lines += [f"expected: {finding.expected}"] * bool(finding.expected)
    lines += [f"fix: {finding.fix}"] * bool(finding.fix)
    lines += [
        f"because: {step.text}" + (f" ({step.place})" if step.place else "")
        for step in finding.evidence
    ]
    title = f"{finding.code} {one_line(finding.title)}"
    return _at(finding.place, kind, title, "\n".join(lines))


def _at(place: Place | None, kind: str, title: str, text: str) -> str:
    properties: dict[str, str] = {}
    if place is not None:
        properties["file"] = place.file.replace("\\", "/")
    if place is not None and place.line:
        properties |= {"line": str(place.line), "col": str(place.column)}
    cell = f" (cell {place.cell})" if place is not None and place.cell else ""
    properties["title"] = f"{title}{cell}"
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{kind} {listed}::{_message(text)}"


def _message(text: str) -> str:
    """Text as GitHub takes it apart again: of one line, whatever it holds."""
    return plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
