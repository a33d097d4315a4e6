"""A report in one line, and in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..finding import Confidence, Finding, Place, Severity
from ..report import Compiled, Report, worst

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


def by_severity(issues: Iterable[Finding]) -> dict[Severity, int]:
    """How many issues there are of each severity, the gravest first."""
    found = Counter(issue.severity for issue in issues)
    return {severity: found[severity] for severity in SEVERITIES}


def by_confidence(report: Report) -> dict[Confidence, int]:
    """How many issues are certain, and how many likely."""
    found = Counter(issue.confidence for issue in report.issues)
    return {confidence: found[confidence] for confidence in Confidence}


def by_family(report: Report) -> dict[str, int]:
    """How many issues each family has."""
    return dict(sorted(Counter(issue.family for issue in report.issues).items()))


def gravest(report: Report) -> Severity | None:
    """The gravest severity among the issues."""
    return worst(report.issues)


def summary(report: Report) -> str:
    """One line: `1 certain issue (1 error), 2 likely issues (2 minor), no warnings, 5 verified`."""
    parts = [_issues(report, confidence) for confidence in Confidence]
    if not report.issues:
        parts = ["no issues"]
    parts += [_plural(len(report.warnings), "warning"), f"{len(report.verified)} verified"]
    if count := len(report.unread) + len(report.failures):
        parts.append(f"{count} not audited")
    return joined(parts, ", ")


def _issues(report: Report, confidence: Confidence) -> str:
    """How many issues there are of one confidence, and how grave; empty if there is none."""
    issues = [it for it in report.issues if it.confidence is confidence]
    if not issues:
        return ""
    kinds = [f"{count} {severity}" for severity, count in by_severity(issues).items() if count]
    return f"{_plural(len(issues), f'{confidence} issue')} ({', '.join(kinds)})"


def _plural(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'s' * (count != 1)}"


# So many functions are named; of more, who wants to know asks.
_NAMED = 3


def notes_of(report: Report) -> tuple[str, ...]:
    """All remarks about the audit, with one line on where it has stopped."""
    cut = report.unfollowed
    if not cut:
        return report.notes
    named = ", ".join(f"{it.place} {it.name} ({it.reason})" for it in cut[:_NAMED])
    more = len(cut) - _NAMED
    rest = f" and {more} more (-v names them)" if more > 0 else ""
    were, them = ("function was", "it") if len(cut) == 1 else ("functions were", "them")
    line = f"{len(cut)} {were} not followed to the end: {named}{rest}"
    return (*report.notes, f"{line}; what depends on {them} is unknown")


def remarks_of(report: Report) -> tuple[str, ...]:
    """The same without what could not be audited, for formats that have a form for that."""
    told = {str(it) for it in (*report.unread, *report.failures)}
    return tuple(note for note in notes_of(report) if note not in told)


def remark_on(report: Report, section: str, has_entries: bool) -> str:
    """What to say at the end of a section: why it is empty, or not whole."""
    if section in _OF_FLOW and report.omitted:
        return report.omitted
    return "" if has_entries else "none"


def labelled(finding: Finding) -> list[tuple[str, str]]:
    """What a finding says in words, each with what it is called; what is empty is left out."""
    said = {"now": finding.current, "expected": finding.expected, "fix": finding.fix}
    return [(label, text) for label, text in said.items() if text]


def compiled_lines(it: Compiled) -> tuple[str, str, list[tuple[str, str]]]:
    """What was compiled, how often, and for each further time why, with the line of the call.

    What is said in the same words of the same line is said once, with how often it was so.
    """
    times = "once" if it.count == 1 else f"{it.count} times"
    reasons = Counter((again.reason, again.place) for again in it.again)
    seconds: Counter[tuple[str, Place | None]] = Counter()
    for again in it.again:
        seconds[again.reason, again.place] += again.seconds  # pyright: ignore[reportArgumentType]
    lines = [
        (
            f"{reason}" + (f" ({count} times)" if count > 1 else "")
            + f", {seconds[reason, place]:.1f} s",
            str(place or ""),
        )
        for (reason, place), count in reasons.items()
    ]  # fmt: skip
    return it.name, f"compiled {times}, {it.seconds:.1f} s", lines


def joined(parts: Iterable[str], separator: str = " · ") -> str:
    """The parts that are not empty, in one line."""
    return separator.join(part for part in parts if part)
