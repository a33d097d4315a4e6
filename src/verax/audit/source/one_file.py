"""The audit of one file: what it tells, and on which files that depends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..finding import Place
from ..places import map_places
from ..report import Report
from . import reading
from .analyse import analyse, unread
from .project import Project
from .reading import SourceText, UnreadableError


@dataclass(frozen=True)
class Outcome:
    """What one file told.

    `digests` identify its content and that of every file that was read for it. `has_comments` says
    whether it may hold `# verax:` comments, `failed` whether verax itself failed there.
    """

    report: Report
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    has_comments: bool = False
    failed: bool = False


class Texts:
    """Texts of files, each read once. `given` holds what is not in a file: standard input."""

    def __init__(
        self,
        max_bytes: int = reading.DEFAULT_MAX_BYTES,
        given: Mapping[str, bytes] | None = None,
    ):
        self._max_bytes = max_bytes
        self._given = given or {}
        self._known: dict[str, SourceText | UnreadableError] = {}

    def read(self, path: str) -> SourceText:
        """The text of a file.

        Raises:
            UnreadableError: There is none.
        """
        if path not in self._known:
            try:
                self._known[path] = self._read(path)
            except UnreadableError as error:
                self._known[path] = error
        known = self._known[path]
        if isinstance(known, UnreadableError):
            raise known.with_traceback(None)
        return known

    def _read(self, path: str) -> SourceText:
        if path in self._given:
            return reading.read_bytes(self._given[path], path)
        return reading.read(path, self._max_bytes)

    def digest(self, path: str) -> str:
        """What identifies the content that was read, or that of a file that cannot be read."""
        known = self._known.get(path)
        return known.digest if isinstance(known, SourceText) else reading.digest_of_file(path)


class Auditor:
    """Audits the files of one project, one after the other."""

    def __init__(self, roots: Sequence[str], texts: Texts):
        self._texts = texts
        self._project = Project(roots, texts.read)

    def audit(self, path: str) -> Outcome:
        """What one file tells; whatever goes wrong is a note."""
        consulted: frozenset[str] = frozenset()
        failed = False
        try:
            analysis = analyse(path, self._project)
            report, consulted = analysis.report, analysis.consulted
        except UnreadableError as error:
            report = unread(error.problem)
        except Exception as error:
            text = f"{path}: verax itself failed: {type(error).__name__}: {error}"
            report, failed = Report(path, notes=(text,)), True
        try:
            source = self._texts.read(path)
        except UnreadableError:
            source = SourceText(path, "")
        problems = tuple(str(problem) for problem in source.problems)
        report = replace(report, notes=tuple(dict.fromkeys((*report.notes, *problems))))
        digests = {file: self._texts.digest(file) for file in sorted({path, *consulted})}
        if path.endswith(".ipynb"):
            report = self._with_cells(report)
        return Outcome(report, digests, "verax:" in source.text, failed)

    def _with_cells(self, report: Report) -> Report:
        """The report with places in notebooks by cell, instead of by line of the joined text."""

        def by_cell(place: Place) -> Place:
            if not place.file.endswith(".ipynb") or place.cell:
                return place
            try:
                cell, line = self._texts.read(place.file).position(place.line)
            except UnreadableError:
                return place
            return replace(place, line=line, cell=cell)

        return map_places(report, by_cell)
