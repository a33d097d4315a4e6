"""What one file tells (a stand-in until the interpreter is there: it only parses)."""

from __future__ import annotations

from dataclasses import dataclass

from ..report import Report
from .project import Project
from .reading import Problem, parse


@dataclass(frozen=True)
class Analysis:
    """What reading one file as a root has told.

    `consulted` are the other files of the project that were read for it, or looked for and missed.
    """

    report: Report
    consulted: frozenset[str] = frozenset()


def analyse(path: str, project: Project) -> Analysis:
    """Read one file as a root."""
    tree = parse(project.read(path))
    notes = (str(tree),) if isinstance(tree, Problem) else ()
    return Analysis(Report(path, notes=notes))
