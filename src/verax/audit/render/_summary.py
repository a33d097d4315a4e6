"""A report in one line, and in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..finding import Finding, Severity
from ..report import Report, worst

# Headings of the six sections, in the order in which every format shows them.
SECTIONS = (
    "Data flow",
    "Transformation stack",
    "Shape trace at boundaries",
    "Issues found",
    "Verified correct",
    "Warnings",
)

# What `Report.omitted` is about.
_OF_FLOW = SECTIONS[:3]

SEVERITIES = (Severity.CRITICAL, Severity.ERROR, Severity.MINOR)


def counts(report: Report) -> dict[Severity, int]:
    """How many issues there are of each severity, the gravest first."""
    found = Counter(issue.severity for issue in report.issues)
    return {severity: found[severity] for severity in SEVERITIES}


def by_family(report: Report) -> dict[str, int]:
    """How many issues each family has."""
    return dict(sorted(Counter(issue.family for issue in report.issues).items()))


def gravest(report: Report) -> Severity | None:
    """The gravest severity among the issues."""
    return worst(report.issues)


def summary(report: Report) -> str:
    """One line: `2 issues (1 critical, 1 error), 3 warnings, 5 verified`."""
    parts = [_plural(len(report.issues), "issue")]
    if report.issues:
        kinds = [f"{count} {severity}" for severity, count in counts(report).items() if count]
        parts[0] += f" ({', '.join(kinds)})"
    parts += [_plural(len(report.warnings), "warning"), f"{len(report.verified)} verified"]
    return ", ".join(parts)


def _plural(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'s' * (count != 1)}"


# So many functions are named; of more, who wants to know asks.
_NAMED = 3


def notes_of(report: Report) -> tuple[str, ...]:
    """All remarks about the audit; of many functions that were not followed only the number.

    On the host that is so for many a function, and seldom matters.
    """
    cut = [it for it in report.unfollowed if not it.on_host]
    if len(cut) <= _NAMED:
        return (*report.notes, *map(str, cut))
    return (*report.notes, f"{len(cut)} functions were not followed to their end; -v names them")


def remark_on(report: Report, section: str, has_entries: bool) -> str:
    """What to say at the end of a section: why it is empty, or not whole."""
    if section in _OF_FLOW and report.omitted:
        return report.omitted
    return "" if has_entries else "none"


def labelled(finding: Finding) -> list[tuple[str, str]]:
    """What a finding says in words, each with what it is called; what is empty is left out."""
    said = {"now": finding.current, "expected": finding.expected, "fix": finding.fix}
    return [(label, text) for label, text in said.items() if text]


def joined(parts: Iterable[str], separator: str = " · ") -> str:
    """The parts that are not empty, in one line."""
    return separator.join(part for part in parts if part)
