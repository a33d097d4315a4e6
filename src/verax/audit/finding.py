"""What the auditor says about one place of a program.

Engines and rules make these; renderers read them. Nothing here knows how a finding was made, and
nothing here imports JAX.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import PurePath


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


# A line, and the calls by which execution came there: files and lines, innermost first.
CallPath = tuple[tuple[str, int], ...]


@dataclass(frozen=True, order=True)
class Place:
    """A position in the user's code. Lines and columns count from one.

    In a notebook, `line` is one of the cell with the number `cell`, which counts all cells from
    one; elsewhere that is 0. `calls` are those by which an engine came there, as far as it says:
    they are no part of what the place is.
    """

    file: str
    line: int
    column: int = 1
    function: str = ""
    cell: int = 0
    calls: CallPath | None = field(default=None, compare=False, repr=False)

    def line_from(self, reader: Place) -> str:
        """Which line this is, to someone who reads at another place: of which file, if another."""
        cell = f" of cell {self.cell}" if self.cell and self.cell != reader.cell else ""
        file = f" of {PurePath(self.file).name}" if self.file != reader.file else ""
        return f"line {self.line}{cell or file}"

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.file}{cell}:{self.line}"


@dataclass(frozen=True)
class Evidence:
    """One step by which a value got to the place of a finding."""

    text: str
    place: Place | None = None


@dataclass(frozen=True)
class Edit:
    """A change of the source that does what a fix says: at `place`, `old` becomes `new`.

    Only for a fix that is right whatever the program is for. Where its author has to decide, a fix
    is words.
    """

    place: Place
    old: str
    new: str


@dataclass(frozen=True)
class Finding:
    """A defect, or (in the section of warnings) what could become one.

    `current` says what the program does, `expected` what it should do, `fix` how to get there.
    `title` is the rule's; what is particular to the place stands in the other three. Of a rule in
    `preview` a finding is shown only to those who ask for it. `paths` are the ways on which an
    engine came to find it; an empty one stands for a way that is not known.
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
    edit: Edit | None = None
    preview: bool = False
    paths: frozenset[CallPath] = field(default=frozenset(((),)), compare=False, repr=False)

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
    preview: bool = False
