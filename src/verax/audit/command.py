"""`verax audit` without the words of its command line: from targets to a report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .child import DEFAULT_TIMEOUT, Given, audit_in_child
from .errors import UsageError
from .finding import Confidence, Severity
from .in_tests import reuse_in_tests_warns
from .reconcile import needs_witness, reconciled
from .render._places import with_short_files
from .report import Report, Unread, findings_only, merged, worst
from .source.engine import STDIN as STDIN_FILE
from .source.engine import Audited, Options, audit_files
from .specs import parse_inputs
from .suppressions import without_suppressed
from .target import STDIN, FunctionTarget, SourceTarget, Target, home_of, parse_target

if TYPE_CHECKING:
    from .diff import Before


Trace = Callable[[FunctionTarget, Given, float], Report]


def audit_targets(
    targets: Iterable[str],
    given: Given,
    timeout: float = DEFAULT_TIMEOUT,
    options: Options | None = None,
    trace: Trace | None = None,
) -> Report:
    """One report about all targets, without what comments in their files answer.

    Files and folders are read. Functions are traced, and the files that they are in are read.
    `trace` does so in another way than in a process of its own.

    Raises:
        UsageError: A target or what was said about its inputs is wrong.
    """
    parsed = [parse_target(target) for target in targets]
    report, _ = _audited(parsed, given, timeout, options or Options(), trace)
    return report


def audit_change(
    targets: Iterable[str],
    revision: str,
    given: Given,
    timeout: float = DEFAULT_TIMEOUT,
    options: Options | None = None,
) -> tuple[Report, Before]:
    """The same report, and which of its findings were there at a revision.

    Raises:
        UsageError: A target or what was said about it is wrong, or it has no earlier version.
    """
    from .diff import Asked, change_since, found_before  # slow to load, and seldom needed

    asked = Asked([parse_target(it) for it in targets], given, timeout, options or Options())
    change = change_since(revision, asked.targets)
    report, audited = _audited(asked.targets, given, timeout, asked.options)
    return report, found_before(change, report, audited, asked)


def _audited(
    parsed: Sequence[Target],
    given: Given,
    timeout: float,
    options: Options,
    trace: Trace | None = None,
) -> tuple[Report, Audited]:
    parse_inputs(given.specs, given.dims)  # complains before anything is imported
    # Files are read, and named, in the same order each time; functions as they are given.
    parsed = sorted(parsed, key=lambda it: it.text if isinstance(it, SourceTarget) else "")
    functions = [target for target in parsed if isinstance(target, FunctionTarget)]
    asked = [it for it in parsed if isinstance(it, SourceTarget)]
    stdin = sys.stdin.buffer.read() if any(it.text == STDIN for it in asked) else None
    paths = [str(it.path) for it in asked if it.text != STDIN]
    homes = {home for target in functions if (home := home_of(target)) is not None}
    audited = audit_files(paths, options, stdin, sorted(homes))
    report = merged(
        # How data flows in a traced function, and what is right there, is what the trace shows.
        replace(findings_only(report), verified=()) if file in audited.beside else report
        for file, report in audited.reports.items()
    )
    if functions:
        given = replace(given, witness=needs_witness(report))
        alone = len(parsed) == 1
        traced = [_traced(it, given, timeout, alone, trace or audit_in_child) for it in functions]
        report = reconciled(report, merged(traced))
    report = replace(
        report,
        target=", ".join(target.text for target in parsed),
        notes=(*audited.notes, *report.notes),
    )
    report = reuse_in_tests_warns(report)
    return without_suppressed(report, audited.commented, audited.read), audited


def paths_of(targets: Iterable[str]) -> list[str]:
    """The files and folders among targets, which are read whole."""
    parsed = map(parse_target, targets)
    return [str(it.path) for it in parsed if isinstance(it, SourceTarget) and it.text != STDIN]


def unread_targets(report: Report, targets: Iterable[str]) -> tuple[Unread, ...]:
    """What was asked for by its own name, and could not be read; below a folder a note will do."""
    files = [it for it in paths_of(targets) if not os.path.isdir(it)]
    # Standard input is named by all who give it.
    named = {os.path.realpath(it) for it in (*files, STDIN_FILE)}
    found = [it for it in report.unread if os.path.realpath(it.place.file) in named]
    return with_short_files(tuple(found))


def _traced(
    target: FunctionTarget, given: Given, timeout: float, alone: bool, trace: Trace
) -> Report:
    try:
        return trace(target, given, timeout)
    except UsageError as error:
        if alone or target.text in str(error):
            raise
        raise UsageError(f"{target.text}: {error}") from None


def fails(report: Report, fail_on: str) -> bool:
    """Whether there are issues of this severity or above, or certain ones; "never" is above all."""
    if fail_on == Confidence.CERTAIN:
        return any(it.confidence is Confidence.CERTAIN for it in report.issues)
    gravest = worst(report.issues)
    if fail_on == "never" or gravest is None:
        return False
    return gravest.rank >= Severity(fail_on).rank
