"""What the auditor says about one place of a program.

Engines and rules make these; renderers read them. Nothing here knows how a finding was made, and
nothing here imports JAX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """What happens to a program that keeps the defect."""

    CRITICAL = "critical"  # it runs, and its results are wrong
    ERROR = "error"  # it raises
    MINOR = "minor"  # it costs time or memory

    @property
    def rank(self) -> int:
        """Position in the order minor < error < critical."""
        return _SEVERITIES.index(self)


_SEVERITIES = (Severity.MINOR, Severity.ERROR, Severity.CRITICAL)


class Confidence(StrEnum):
    """Whether a finding follows from what is known, or from what such code usually means."""

    CERTAIN = "certain"
    LIKELY = "likely"


class Engine(StrEnum):
    """Who found it."""

    SOURCE = "source"
    TRACE = "trace"


@dataclass(frozen=True, order=True)
class Place:
    """A position in the user's code. Lines and columns count from one.

    In a notebook, `line` is one of the cell with the number `cell`, which counts all cells from
    one; elsewhere that is 0.
    """

    file: str
    line: int
    column: int = 1
    function: str = ""
    cell: int = 0

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.file}{cell}:{self.line}"


@dataclass(frozen=True)
class Evidence:
    """One step by which a value got to the place of a finding."""

    text: str
    place: Place | None = None


@dataclass(frozen=True)
class Finding:
    """A defect, or (in the section of warnings) what could become one.

    `current` says what the program does, `expected` what it should do, `fix` how to get there.
    `title` is the rule's; what is particular to the place stands in the other three.
    """

    code: str
    family: str
    title: str
    severity: Severity
    confidence: Confidence
    place: Place
    current: str
    expected: str
    fix: str
    engine: Engine
    evidence: tuple[Evidence, ...] = ()

    @property
    def identity(self) -> tuple[str, str, int, int]:
        """Findings that agree in this say the same thing."""
        return (self.code, self.place.file, self.place.cell, self.place.line)


@dataclass(frozen=True)
class Verified:
    """Something that a rule proved to hold, and why it does."""

    code: str
    family: str
    claim: str
    reason: str
    place: Place | None = None


def without_repetition(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each defect once, in the order of files and lines.

    Where both engines found one, the trace engine tells it, since its words hold facts; unless it
    has no name for what the program names.
    """
    kept: dict[tuple[str, str, int, int], Finding] = {}
    for finding in findings:
        other = kept.get(finding.identity)
        if other is None:
            kept[finding.identity] = finding
        elif other.engine is not finding.engine:
            kept[finding.identity] = _better_told(other, finding)
    return tuple(sorted(kept.values(), key=_order))


# How the trace engine calls a value for which it has no name: "the f32[8] of line 3".
_NAMELESS = re.compile(r"\bthe \w+\[[^\]]*\] of line \d")


def _better_told(one: Finding, other: Finding) -> Finding:
    first, second = sorted((one, other), key=lambda it: it.engine is Engine.SOURCE)
    words = f"{first.current} {first.fix}"
    told = second if _NAMELESS.search(words) else first
    if told.confidence is Confidence.LIKELY and Confidence.CERTAIN in (
        first.confidence,
        second.confidence,
    ):
        told = replace(told, confidence=Confidence.CERTAIN)
    return told if told.evidence else replace(told, evidence=(first.evidence or second.evidence))


def _order(finding: Finding) -> tuple[str, int, Place, str]:
    return (finding.place.file, finding.place.cell, finding.place, finding.code)
