"""Findings of one cause, shown as one: probabilities that are taken for logits in two places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .finding import Evidence, Finding, Place
from .report import Report

# The rules of which the first evidence of a finding is its cause: named here, since a report that
# the cache holds is shown without loading any rule, which would take longer than all the rest.
_TELLING = frozenset(("DF102",))


def one_a_cause(report: Report) -> Report:
    """The report with the first finding of each cause, which names the places of the others.

    For showing only: each of them is answered by a comment of its own, and may be new by itself.
    """
    return replace(
        report,
        issues=_gathered(report.issues),
        warnings=_gathered(report.warnings),
    )


def _gathered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    first: dict[object, Finding] = {}
    for finding in findings:
        cause = _cause(finding) if finding.code in _TELLING else None
        key = finding.identity if cause is None else (finding.code, cause)
        known = first.get(key)
        if known is None:
            first[key] = finding
        else:
            also = Evidence("the same happens here", finding.place)
            first[key] = replace(known, evidence=(*known.evidence, also))
    return tuple(first.values())


def _cause(finding: Finding) -> Place | None:
    return finding.evidence[0].place if finding.evidence else None
