"""The audit of one file: what it tells, and on which files that depends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ..finding import Place
from ..places import map_places
from ..report import Flow, Report, failure_of, noted
from .analyse import Analysis, analyse, flow_in, unread
from .limits import DEFAULT, Limits
from .outcome import Outcome, Texts
from .project import Project
from .reading import SourceText, UnreadableError

_T = TypeVar("_T")


class Auditor:
    """Audits the files of one project, one after the other.

    Without `sections` reports do not show how data flows, for when nobody will look at that.
    `observed` is, by file, what its functions were called with when the program ran.
    """

    def __init__(
        self,
        roots: Sequence[str],
        texts: Texts,
        sections: bool = True,
        limits: Limits = DEFAULT,
        observed: Mapping[str, str] | None = None,
    ):
        self._observed = observed or {}
        self._limits = limits
        self._texts = texts
        self._sections = sections
        self._project = Project(roots, texts.read)

    def audit(self, path: str) -> Outcome:
        """What one file tells; whatever goes wrong is a note."""
        try:
            observed = self._observed.get(path, "")
            analysis = analyse(path, self._project, self._sections, self._limits, observed)
        except UnreadableError as error:
            analysis = Analysis(unread(error.problem))
        except Exception as error:
            analysis = Analysis(noted(Report(path), failure_of(error, Place(path, 0))))
        try:
            source = self._texts.read(path)
        except UnreadableError:
            source = SourceText(path, "")
        # A notebook may hold other things than Python; the rest of it was audited.
        cells = (replace(problem.unread, allowed=True) for problem in source.problems)
        report = noted(analysis.report, *cells)
        digests = {it: self._texts.digest(it) for it in sorted({path, *analysis.contents})}
        if path.endswith(".ipynb"):
            report = self._with_cells(report)
        has_comments, failed = "verax:" in source.text, bool(report.failures)
        return Outcome(
            report,
            digests,
            has_comments,
            failed,
            analysis.uses_jax,
            analysis.kinds,
            analysis.observed,
        )

    def flow(self, path: str, name: str) -> tuple[tuple[Flow, ...], tuple[str, ...]]:
        """How data flows in the functions of a file that have a name; and the names there are.

        Raises:
            UnreadableError: The file has no text, or is no program.
        """
        flows, names = flow_in(path, self._project, name, self._limits)
        return self._with_cells(flows), names

    def _with_cells(self, value: _T) -> _T:
        """A value with places in notebooks by cell, instead of by line of the joined text."""

        def by_cell(place: Place) -> Place:
            if not place.file.endswith(".ipynb") or place.cell:
                return place
            try:
                cell, line = self._texts.read(place.file).position(place.line)
            except UnreadableError:
                return place
            return replace(place, line=line, cell=cell)

        return map_places(value, by_cell)
