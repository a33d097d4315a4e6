"""`verax audit` without the words of its command line: from targets to a report."""

from __future__ import annotations

from collections.abc import Iterable

from .child import DEFAULT_TIMEOUT, Given, audit_in_child
from .errors import UsageError
from .finding import Severity
from .report import Report, merged, worst
from .specs import parse_inputs
from .target import FunctionTarget, Target, needs_function, parse_target


def audit_targets(targets: Iterable[str], given: Given, timeout: float = DEFAULT_TIMEOUT) -> Report:
    """One report about all targets.

    Raises:
        UsageError: A target or what was said about its inputs is wrong.
    """
    parsed = [parse_target(target) for target in targets]
    parse_inputs(given.specs, given.dims)  # complains before anything is imported
    reports: list[Report] = []
    for target in parsed:
        try:
            reports.append(_audit(target, given, timeout))
        except UsageError as error:
            if len(parsed) == 1 or target.text in str(error):
                raise
            raise UsageError(f"{target.text}: {error}") from None
    return merged(reports)


def _audit(target: Target, given: Given, timeout: float) -> Report:
    if isinstance(target, FunctionTarget):
        return audit_in_child(target, given, timeout)
    raise needs_function(target)


def fails(report: Report, fail_on: str) -> bool:
    """Whether there are issues of this severity or above; "never" is above all."""
    gravest = worst(report.issues)
    if fail_on == "never" or gravest is None:
        return False
    return gravest.rank >= Severity(fail_on).rank
