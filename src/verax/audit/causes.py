"""Findings of one cause, shown as one: probabilities that are taken for logits in two places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .finding import Evidence, Finding, Place
from .report import Report
from .rules.registry import all_rules


def one_a_cause(report: Report) -> Report:
    """The report with the first finding of each cause, which names the places of the others.

    For showing only: each of them is answered by a comment of its own, and may be new by itself.
    """
    telling = frozenset(rule.code for rule in all_rules() if rule.tells_cause)
    return replace(
        report,
        issues=_gathered(report.issues, telling),
        warnings=_gathered(report.warnings, telling),
    )


def _gathered(findings: Iterable[Finding], telling: frozenset[str]) -> tuple[Finding, ...]:
    first: dict[object, Finding] = {}
    for finding in findings:
        cause = _cause(finding) if finding.code in telling else None
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
