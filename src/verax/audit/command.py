"""`verax audit` without the words of its command line: from targets to a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from .child import DEFAULT_TIMEOUT, Given, audit_in_child
from .errors import OwnError, UsageError
from .files import read_stdin
from .finding import Confidence, Severity
from .in_tests import reuse_in_tests_warns
from .reconcile import needs_witness, reconciled
from .render._places import with_short_files
from .report import Failure, Report, Unread, findings_only, merged, noted, worst
from .source.engine import Audited, Options, audit_files
from .specs import parse_inputs
from .suppressions import without_suppressed
from .target import STDIN, FunctionTarget, SourceTarget, Target, home_of, parse_target

if TYPE_CHECKING:
    from .diff import Before


Trace = Callable[[FunctionTarget, Given, float], Report]


def audit_targets(
    targets: Iterable[str | Target],
    given: Given,
    timeout: float = DEFAULT_TIMEOUT,
    options: Options | None = None,
    trace: Trace | None = None,
    stdin: bytes | None = None,
) -> Report:
    """One report about all targets, without what comments in their files answer.

    Files and folders are read. Functions are traced, and the files that they are in are read.
    `trace` does so in another way than in a process of its own. Standard input is read where it is
    a target, unless `stdin` is what it would hold.

    Raises:
        UsageError: A target or what was said about its inputs is wrong.
    """
    parsed = list(map(_parsed, targets))
    report, _ = _audited(parsed, given, timeout, options or Options(), trace, stdin)
    return report


def _parsed(target: str | Target) -> Target:
    return parse_target(target) if isinstance(target, str) else target


def audit_change(
    targets: Iterable[str | Target],
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

    asked = Asked(list(map(_parsed, targets)), given, timeout, options or Options())
    change = change_since(revision, asked.targets)
    report, audited = _audited(asked.targets, given, timeout, asked.options)
    return report, found_before(change, report, audited, asked)


def _audited(
    parsed: Sequence[Target],
    given: Given,
    timeout: float,
    options: Options,
    trace: Trace | None = None,
    stdin: bytes | None = None,
) -> tuple[Report, Audited]:
    parse_inputs(given.specs, given.dims)  # complains before anything is imported
    # Files are read, and named, in the same order each time; functions as they are given.
    parsed = sorted(parsed, key=lambda it: it.text if isinstance(it, SourceTarget) else "")
    functions = [target for target in parsed if isinstance(target, FunctionTarget)]
    asked = [it for it in parsed if isinstance(it, SourceTarget)]
    if stdin is None and any(it.text == STDIN for it in asked):
        stdin = read_stdin(options.max_bytes)
    paths = [str(it.path) for it in asked if it.text != STDIN]
    homes = {home for target in functions if (home := home_of(target)) is not None}
    audited = audit_files(paths, options, stdin, sorted(homes))
    report = _of_files(audited)
    if functions:
        given = replace(given, witness=needs_witness(report))
        alone = len(parsed) == 1
        traced = [_traced(it, given, timeout, alone, trace or audit_in_child) for it in functions]
        report = reconciled(report, merged(traced))
    return _finished(report, audited, ", ".join(target.text for target in parsed)), audited


def audit_traced(
    target: str, traced: Sequence[Report], files: Iterable[str], options: Options
) -> Report:
    """One report of traces that were made elsewhere, with witness, and of the files they are in."""
    # A file may have two names, by way of a link; what traces call it counts.
    names = {os.path.realpath(it): it for it in sorted(files)}
    audited = audit_files([], options, None, sorted(names.values()))
    report = reconciled(_of_files(audited), merged(traced)) if traced else _of_files(audited)
    return _finished(report, audited, target)


def _of_files(audited: Audited) -> Report:
    """What a static analysis says of all files."""
    return merged(
        # How data flows in a traced function, and what is right there, is what the trace shows.
        replace(findings_only(report), verified=()) if file in audited.beside else report
        for file, report in audited.reports.items()
    )


def _finished(report: Report, audited: Audited, target: str) -> Report:
    report = reuse_in_tests_warns(audited.told(replace(report, target=target)))
    return without_suppressed(report, audited.commented, audited.read)


def paths_of(targets: Iterable[str]) -> list[str]:
    """The files and folders among targets, which are read whole."""
    parsed = map(parse_target, targets)
    return [str(it.path) for it in parsed if isinstance(it, SourceTarget) and it.text != STDIN]


def files_of(targets: Iterable[str]) -> list[str]:
    """The same, with the files of functions."""
    parsed = map(parse_target, targets)
    functions = [it.file for it in parsed if isinstance(it, FunctionTarget) and it.file]
    return [*paths_of(targets), *functions]


def with_unread_allowed(report: Report) -> Report:
    """The report, in which what could not be read is no error."""
    return replace(report, unread=tuple(replace(it, allowed=True) for it in report.unread))


def not_audited(report: Report) -> tuple[Failure | Unread, ...]:
    """Why this is not the whole audit: failures of ours, and what could not be read."""
    unread = (it for it in report.unread if not it.allowed)
    return with_short_files((*report.failures, *unread))


def _traced(
    target: FunctionTarget, given: Given, timeout: float, alone: bool, trace: Trace
) -> Report:
    try:
        return trace(target, given, timeout)
    except OwnError as error:
        return noted(Report(target.text), Failure(str(error)))
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
