"""The audit of one file: what it tells, and on which files that depends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..finding import Place
from ..places import map_places
from ..report import Report, failure_of, noted
from .analyse import analyse, unread
from .outcome import Outcome, Texts
from .project import Project
from .reading import SourceText, UnreadableError


class Auditor:
    """Audits the files of one project, one after the other.

    Without `sections` reports do not show how data flows, for when nobody will look at that.
    """

    def __init__(self, roots: Sequence[str], texts: Texts, sections: bool = True):
        self._texts = texts
        self._sections = sections
        self._project = Project(roots, texts.read)

    def audit(self, path: str) -> Outcome:
        """What one file tells; whatever goes wrong is a note."""
        consulted: frozenset[str] = frozenset()
        uses_jax = True
        try:
            analysis = analyse(path, self._project, self._sections)
            report, consulted = analysis.report, analysis.consulted
            uses_jax = analysis.uses_jax
        except UnreadableError as error:
            report = unread(error.problem)
        except Exception as error:
            report = noted(Report(path), failure_of(error, Place(path, 0)))
        try:
            source = self._texts.read(path)
        except UnreadableError:
            source = SourceText(path, "")
        # A notebook may hold other things than Python; the rest of it was audited.
        cells = (replace(problem.unread, allowed=True) for problem in source.problems)
        report = noted(report, *cells)
        digests = {file: self._texts.digest(file) for file in sorted({path, *consulted})}
        if path.endswith(".ipynb"):
            report = self._with_cells(report)
        failed = bool(report.failures)
        return Outcome(report, digests, "verax:" in source.text, failed, uses_jax)

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
