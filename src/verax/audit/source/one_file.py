"""The audit of one file: what it tells, and on which files that depends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..finding import Place
from ..places import map_places
from ..report import Report
from .analyse import Analysis, analyse, unread
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
        failed = False
        try:
            analysis = analyse(path, self._project, self._sections, self._limits)
        except UnreadableError as error:
            analysis = Analysis(unread(error.problem))
        except Exception as error:
            text = f"{path}: verax itself failed: {type(error).__name__}: {error}"
            analysis, failed = Analysis(Report(path, notes=(text,))), True
        try:
            source = self._texts.read(path)
        except UnreadableError:
            source = SourceText(path, "")
        problems = tuple(str(problem) for problem in source.problems)
        report = analysis.report
        report = replace(report, notes=tuple(dict.fromkeys((*report.notes, *problems))))
        digests = {it: self._texts.digest(it) for it in sorted({path, *analysis.contents})}
        if path.endswith(".ipynb"):
            report = self._with_cells(report)
        has_comments = "verax:" in source.text
        return Outcome(report, digests, has_comments, failed, analysis.uses_jax, analysis.kinds)

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
