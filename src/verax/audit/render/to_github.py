"""A report as commands to GitHub's workflows, which show findings beside the lines of a change."""

from __future__ import annotations

from collections.abc import Iterator

from ..finding import Finding, Severity
from ..report import Report
from ._places import with_short_files
from ._plain import one_line, plain
from ._summary import notes_of, summary


def render(report: Report) -> str:
    """One command a finding, then the summary.

    An issue that makes results wrong or raises is an error there, one that costs time or memory a
    warning, and what verax calls a warning is a notice. So is a remark about the audit.
    """
    return "\n".join(_report(with_short_files(report))) + "\n"


def _report(report: Report) -> Iterator[str]:
    for issue in report.issues:
        yield _command("warning" if issue.severity is Severity.MINOR else "error", issue)
    for warning in report.warnings:
        yield _command("notice", warning)
    for note in notes_of(report):
        yield f"::notice::{_message(plain(note))}"
    yield f"{one_line(report.target)}: {summary(report)}"


def _command(kind: str, finding: Finding) -> str:
    place = finding.place
    properties = {
        "file": place.file.replace("\\", "/"),
        "line": str(place.line),
        "col": str(place.column),
        "title": f"{finding.code} {one_line(finding.title)}"
        + (f" (cell {place.cell})" if place.cell else ""),
    }
    listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    lines = [finding.current]
    lines += [f"expected: {finding.expected}"] * bool(finding.expected)
    lines += [f"fix: {finding.fix}"] * bool(finding.fix)
    lines += [
        f"because: {step.text}" + (f" ({step.place})" if step.place else "")
        for step in finding.evidence
    ]
    return f"::{kind} {listed}::{_message(plain(chr(10).join(lines)))}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(plain(text)).replace(":", "%3A").replace(",", "%2C")
