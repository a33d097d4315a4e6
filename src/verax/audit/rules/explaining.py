"""Findings of a wide rule that a narrow one explains: one defect, reported once."""

from __future__ import annotations

from ..finding import Finding
from .registry import all_rules


def without_explained(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings but those whose defect another one names more closely, at one of its lines."""
    explains = {rule.code: rule.explains for rule in all_rules() if rule.explains}
    narrow = [it for it in findings if it.code in explains]
    return tuple(
        it
        for it in findings
        if not any(it.code in explains[by.code] and _meet(it, by) for by in narrow)
    )


def _meet(one: Finding, other: Finding) -> bool:
    is_shown = one.preview or not other.preview  # Who sees one finding sees what explains it.
    return is_shown and not _lines(one).isdisjoint(_lines(other))


def _lines(finding: Finding) -> set[tuple[str, int, int]]:
    places = (finding.place, *(it.place for it in finding.evidence if it.place is not None))
    return {(it.file, it.cell, it.line) for it in places}
