"""One file as a root: run it, call its functions with unknown arguments, and ask the rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..finding import Engine, Place
from ..report import Report, noted
from .facts import SourceFacts
from .library import registry
from .limits import DEFAULT, Limits
from .machine import Interpreter
from .project import Module, Project
from .reading import Problem, SourceText, UnreadableError
from .remember import walked
from .runs import (
    run_compiled_methods,
    run_definition,
    run_example,
    run_returned,
    run_transformed,
    run_unflatten,
)
from .sections import sections_of

if TYPE_CHECKING:
    from ..rules._rule import Rule


@dataclass(frozen=True)
class Analysis:
    """What reading one file as a root has told.

    `consulted` are the other files that it depends on, also such as were looked for in vain.
    `uses_jax` says whether it imports JAX, itself or by way of these.
    """

    report: Report
    consulted: frozenset[str] = frozenset()
    uses_jax: bool = True


def analyse(
    path: str, project: Project, sections: bool = True, limits: Limits = DEFAULT
) -> Analysis:
    """Audit one file of a project, perhaps without the sections that show how data flows."""
    project.start()
    module = project.module(path)
    if isinstance(module, Problem):
        return Analysis(unread(module))
    with _deep_recursion():
        report = _judged(interpret(module, project, limits), module, sections=sections)
    uses_jax = project.uses_jax(module)
    return Analysis(report, frozenset(project.consulted - {path}), uses_jax)


def unread(problem: Problem) -> Report:
    """All there is to say of a file that cannot be read."""
    return noted(Report(problem.path), problem.unread)


def audit_text(
    text: str,
    name: str = "program",
    strict: bool = False,
    rules: tuple[Rule, ...] | None = None,
    limits: Limits = DEFAULT,
) -> Report:
    """What reading a program's text tells: for examples of rules and for tests."""
    path = os.path.abspath(f"{name}.py")
    project = Project([], lambda file: _only(file, path, text))
    module = project.module(path)
    if isinstance(module, Problem):
        return unread(module)
    with _deep_recursion():
        return _judged(interpret(module, project, limits), module, rules, strict)


# Python's own parser takes expressions that are nested some thousand times: `a + b + c + …`.
_DEEPEST = 6000


@contextmanager
def _deep_recursion() -> Generator[None]:
    """Let functions call themselves more often than Python does as a rule."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _only(file: str, path: str, text: str) -> SourceText:
    if file == path:
        return SourceText(path, text)
    raise UnreadableError(Problem(file, 0, "there is no such file"))


def interpret(module: Module, project: Project, limits: Limits = DEFAULT) -> Interpreter:
    """Run a module and everything that it defines."""
    registry.load()
    walked(module.syntax)  # Everybody asks for parts of it, and gets them from one walk.
    machine = Interpreter(project, limits)
    machine.start_file(module)
    frame = machine.run_module(module)
    for value in list(frame.environment.values()):
        run_definition(machine, value, module)
    run_transformed(machine, module)
    run_returned(machine, module)
    run_unflatten(machine, module)
    run_compiled_methods(machine, module)
    run_example(machine, frame)
    return machine


def _judged(
    machine: Interpreter,
    module: Module,
    rules: tuple[Rule, ...] | None = None,
    strict: bool = False,
    sections: bool = True,
) -> Report:
    from ..rules.judging import judged

    facts = SourceFacts(machine, module)
    verdicts = judged(facts, Engine.SOURCE, rules, strict)
    notes = [
        f"{place}: this statement is nested too deeply to be gone through"
        for place in machine.record.too_deep
        if place.file == module.path
    ]
    shown: dict[str, Any] = {}
    try:
        shown = sections_of(facts) if sections else {}
    except RecursionError:
        notes.append(f"{module.path}: what is nested too deeply has no data flow to show")
    failures = [replace(it, place=Place(module.path, 0)) for it in verdicts.pop("failures")]
    report = noted(Report(module.path, **shown, **verdicts), *failures)
    cut = [it for it in machine.record.unfollowed.values() if it.place.file == module.path]
    return replace(report, notes=(*report.notes, *notes), unfollowed=tuple(cut))
