"""One file as a root: run it, call its functions with unknown arguments, and ask the rules."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ..finding import Engine, Place
from ..report import Flow, Report, noted
from . import numbering
from .facts import SourceFacts
from .library import registry
from .limits import DEFAULT, Limits
from .machine import Interpreter
from .project import Module, Project
from .reading import Problem, SourceText, UnreadableError
from .remember import size_of, walked
from .runs import (
    run_compiled_methods,
    run_definition,
    run_example,
    run_returned,
    run_transformed,
    run_unflatten,
)
from .sections import flows_named, sections_of
from .work import ExhaustedError, budget_of

if TYPE_CHECKING:
    from ..rules._rule import Rule, Verdict


@dataclass(frozen=True)
class Analysis:
    """What reading one file as a root has told.

    It depends on the content of the files `contents`, and on what is, or is not, at the paths
    `kinds`. `uses_jax` says whether it imports JAX, itself or by way of other files, `observed` how
    many functions were followed on what they were called with when the program ran.
    """

    report: Report
    contents: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict[str, str])
    uses_jax: bool = True
    observed: int = 0


def analyse(
    path: str,
    project: Project,
    sections: bool = True,
    limits: Limits = DEFAULT,
    observed: str = "",
) -> Analysis:
    """Audit one file of a project, perhaps without the sections that show how data flows.

    `observed` says what its functions were called with when the program ran: see `observed.py`.
    """
    project.start()
    module = project.module(path)
    if isinstance(module, Problem):
        return Analysis(unread(module), project.disk.contents(), project.disk.kinds())
    with _deep_recursion():
        machine = interpret(module, project, limits)
        count = _run_observed(machine, module, observed) if observed else 0
        report = _judged(machine, module, sections=sections)
    uses_jax = project.uses_jax(module)
    return Analysis(report, project.disk.contents(), project.disk.kinds(), uses_jax, count)


def flow_in(
    path: str, project: Project, name: str, limits: Limits = DEFAULT
) -> tuple[tuple[Flow, ...], tuple[str, ...]]:
    """How data flows in the functions of a file that have a name; and the names that there are.

    Raises:
        UnreadableError: The file has no text, or is no program.
    """
    project.start()
    module = project.module(path)
    if isinstance(module, Problem):
        raise UnreadableError(module)
    with _deep_recursion():
        machine = interpret(module, project, limits)
        facts = SourceFacts(machine, module)
        names = dict.fromkeys(it.name for it in facts.own_frames if it.function is not None)
        try:
            with budget_of(machine.limits.steps_for(size_of(module.syntax))):
                return flows_named(facts, name), tuple(names)
        except (RecursionError, ExhaustedError):
            return (), tuple(names)


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
    numbering.start()
    walked(module.syntax)  # Everybody asks for parts of it, and gets them from one walk.
    machine = Interpreter(project, limits)
    steps = limits.steps_for(size_of(module.syntax))
    try:
        with budget_of(steps):
            _run(machine, module)
    except ExhaustedError:
        machine.give_up(f"more than {steps:,} steps of work for the whole file")
    return machine


def _run_observed(machine: Interpreter, module: Module, observed: str) -> int:
    """Run functions on what they were called with; this takes nothing from what runs besides."""
    from .observed import decoded, run_observed

    steps = machine.limits.steps_for(size_of(module.syntax))
    try:
        with budget_of(steps):
            return run_observed(machine, module, decoded(observed))
    except ExhaustedError:
        machine.give_up(f"more than {steps:,} steps of work for the calls that were observed")
    return 0


def _run(machine: Interpreter, module: Module) -> None:
    machine.start_file(module)
    frame = machine.run_module(module)
    for value in list(frame.environment.values()):
        run_definition(machine, value, module)
    run_transformed(machine, module)
    run_returned(machine, module)
    run_unflatten(machine, module)
    run_compiled_methods(machine, module)
    run_example(machine, frame)


def _judged(
    machine: Interpreter,
    module: Module,
    rules: tuple[Rule, ...] | None = None,
    strict: bool = False,
    sections: bool = True,
) -> Report:
    from ..rules.judging import judged
    from ..rules.registry import all_rules

    facts = SourceFacts(machine, module)
    steps = machine.limits.steps_for(size_of(module.syntax))
    share, stopped = steps // _GREEDY_RULES, list[str]()
    bounded = [_bounded(it, share, stopped) for it in (all_rules() if rules is None else rules)]
    with budget_of(steps):
        verdicts = judged(facts, Engine.SOURCE, bounded, strict)
    notes = [
        f"{place}: this statement is nested too deeply to be gone through"
        for place in machine.record.too_deep
        if place.file == module.path
    ]
    if stopped:
        notes.append(
            f"{module.path}: {_counted(stopped)} stopped after {share:,} steps of work, as there "
            "is very much to compare: what they would find in the rest of the file is unknown"
        )
    shown: dict[str, Any] = {}
    try:
        with budget_of(steps):
            shown = sections_of(facts) if sections else {}
    except RecursionError:
        notes.append(f"{module.path}: what is nested too deeply has no data flow to show")
    except ExhaustedError:
        notes.append(f"{module.path}: how data flows takes more than {steps:,} steps to work out")
    failures = [replace(it, place=Place(module.path, 0)) for it in verdicts.pop("failures")]
    report = noted(Report(module.path, **shown, **verdicts), *failures)
    cut = [it for it in machine.record.unfollowed.values() if it.place.file == module.path]
    return replace(report, notes=(*report.notes, *notes), unfollowed=tuple(cut))


# So many rules may take all that each of them is allowed, before the others get nothing.
_GREEDY_RULES = 8
_NAMED = 5


def _bounded(rule: Rule, steps: int, stopped: list[str]) -> Rule:
    """A rule that takes no more steps; it keeps what it has found by then."""
    check = rule.source
    if check is None:
        return rule

    def bounded(facts: SourceFacts) -> Iterator[Verdict]:
        found: list[Verdict] = []
        try:
            with budget_of(steps):
                for verdict in check(facts):
                    found.append(verdict)
        except ExhaustedError:
            stopped.append(rule.code)
        return iter(found)

    return replace(rule, source=bounded)


def _counted(codes: list[str]) -> str:
    """`rule DF010` or `9 rules (DF010, DF011 and others)`."""
    if len(codes) == 1:
        return f"rule {codes[0]}"
    rest = " and others" if len(codes) > _NAMED else ""
    return f"{len(codes)} rules ({', '.join(codes[:_NAMED])}{rest})"
