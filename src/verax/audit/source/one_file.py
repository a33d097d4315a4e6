"""The audit of one file: what it tells, and on which files that depends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..finding import Place
from ..places import map_places
from ..report import Report
from .analyse import analyse, unread
from .limits import DEFAULT, Limits
from .outcome import Outcome, Texts
from .project import Project
from .reading import SourceText, UnreadableError


class Auditor:
    """Audits the files of one project, one after the other.

    Without `sections` reports do not show how data flows, for when nobody will look at that.
    """

    def __init__(
        self,
        roots: Sequence[str],
        texts: Texts,
        sections: bool = True,
        limits: Limits = DEFAULT,
    ):
        self._limits = limits
        self._texts = texts
        self._sections = sections
        self._project = Project(roots, texts.read)

    def audit(self, path: str) -> Outcome:
        """What one file tells; whatever goes wrong is a note."""
        consulted: frozenset[str] = frozenset()
        failed, uses_jax = False, True
        try:
            analysis = analyse(path, self._project, self._sections, self._limits)
            report, consulted = analysis.report, analysis.consulted
            uses_jax = analysis.uses_jax
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
