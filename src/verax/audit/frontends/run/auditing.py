"""The audit of what a run has shown, once the run is over.

Each function that was seen is traced on what it was called with, as `verax audit file.py:function`
does with example inputs, and the files in which its program is are read. What the functions print
while they are traced once more is left out.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType

from ...command import audit_traced
from ...finding import Finding, Verified
from ...report import Failure, FlowStep, Report, failure_of, noted
from ...source.engine import Options
from ...trace.places import UserCode
from .calls import Call
from .compilations import compilations
from .recorder import Observed, Recorder
from .session import Session

Progress = Callable[[int, int, str], None]


def report_of(
    session: Session,
    target: str,
    *,
    files: frozenset[str] = frozenset(),
    progress: Progress | None = None,
) -> Report:
    """One report of all that was seen while a session lasted."""
    if session.failure:
        return noted(Report(target), Failure(session.failure))
    if session.recorder is None:
        return Report(target, notes=("the program has not used JAX",))
    report = audit_observed(
        session.recorder, target, Options(sections=False), files, progress=progress
    )
    count = len(session.recorder.functions)
    were = "function was" if count == 1 else "functions were"
    note = f"{count} transformed {were} seen"
    return replace(report, notes=(note, *report.notes))


def audit_observed(
    recorder: Recorder,
    target: str,
    options: Options,
    files: frozenset[str] = frozenset(),
    user_code: UserCode | None = None,
    progress: Progress | None = None,
) -> Report:
    """One report of all functions that a recorder has seen, and of the files that they are in.

    `files` are read in any case. `progress` is called with how many functions are done, of how
    many, and with the name of the next.
    """
    user_code = user_code or UserCode()
    calls = [(it, call) for it in recorder.functions.values() for call in it.calls]
    reports: list[Report] = []
    failures: list[Failure] = [Failure(text) for text in recorder.failures]
    for number, (function, call) in enumerate(calls):
        if progress is not None:
            progress(number, len(calls), function.origin.name)
        try:
            report = _audited(call, user_code, recorder.bodies.entered)
        except Exception as error:
            failures.append(_failure(function, error))
            continue
        if places := _files_of(report, user_code):
            reports.append(report)
            files |= places
    if progress is not None:
        progress(len(calls), len(calls), "")
    report = audit_traced(target, reports, files, options)
    users = [it for it in recorder.functions.values() if user_code.owns(it.origin.file)]
    return noted(replace(report, compiled=compilations(users)), *failures)


def _audited(call: Call, user_code: UserCode, entered: Callable[[FrameType], None]) -> Report:
    from ...run import audit_callable

    with _quiet():
        report = audit_callable(
            call.function,
            call.args,
            call.kwargs,
            target=call.origin.name,
            witness=True,
            user_code=user_code,
            entered=entered,
        )
    return _of_program(report, user_code)


def _of_program(report: Report, user_code: UserCode) -> Report:
    """A report without what is said of lines in libraries.

    A step in a library has the line of the program that called it. Where a library calls the
    program, as a trainer does, there is no such line, and different steps may look like one.
    """

    def is_users(entry: Finding | Verified) -> bool:
        return entry.place is None or user_code.owns(entry.place.file)

    return replace(
        report,
        issues=tuple(filter(is_users, report.issues)),
        verified=tuple(filter(is_users, report.verified)),
        warnings=tuple(filter(is_users, report.warnings)),
    )


def _failure(function: Observed, error: Exception) -> Failure:
    origin = function.origin
    return Failure(f"{origin.file}:{origin.line}: {origin.name}: {failure_of(error).text}")


@contextmanager
def _quiet() -> Generator[None]:
    """Let nothing be printed: the program has said all this already, when it ran."""
    nowhere = io.StringIO()
    with (
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _files_of(report: Report, user_code: UserCode) -> frozenset[str]:
    """The files of the program's that a trace went through; none if it is a library's alone."""
    steps: list[FlowStep] = [
        step for flow in report.data_flow for top in flow.steps for _, step in top.walk()
    ]
    places = [it.place for it in (*steps, *report.findings) if it.place is not None]
    return frozenset(it.file for it in places if user_code.owns(it.file))
