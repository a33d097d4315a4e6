"""What is found twice, told once: by both engines, at one line or at two."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .finding import Confidence, Engine, Evidence, Finding, Place


def without_repetition(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each defect once, in the order of a report.

    Where both engines found one, the trace engine tells it, since its words hold facts; unless it
    has no name for what the program names.
    """
    kept: dict[tuple[str, str, int, int], Finding] = {}
    both: set[tuple[str, str, int, int]] = set()
    for finding in findings:
        other = kept.get(finding.identity)
        if other is None:
            kept[finding.identity] = finding
        elif other.engine is finding.engine:
            if not finding.paths <= other.paths:
                kept[finding.identity] = replace(other, paths=other.paths | finding.paths)
        else:
            kept[finding.identity] = _better_told(other, finding)
            both.add(finding.identity)
    alone = [it for it in kept.values() if it.identity not in both]
    for traced in (it for it in alone if it.engine is Engine.TRACE):
        for read in (it for it in alone if it.engine is Engine.SOURCE):
            if read.identity not in both and _are_one(read, traced):
                both.add(read.identity)
                kept[read.identity] = _told_elsewhere(read, traced)
                del kept[traced.identity]
                break
    return in_order(kept.values())


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as a report orders them: what is certain first, then what is worst."""
    return tuple(sorted(findings, key=_order))


def _are_one(one: Finding, other: Finding) -> bool:
    """Whether two engines tell one defect at two lines: one names the other's, or all is alike."""
    if one.code != other.code:
        return False
    first, second = _led_by(one), _led_by(other)
    is_named = _line(one.place) in second or _line(other.place) in first
    return is_named or (bool(first) and first == second)


def _led_by(finding: Finding) -> set[tuple[str, int, int]]:
    """The lines that led to a finding."""
    return {_line(it.place) for it in finding.evidence if it.place is not None}


def _line(place: Place) -> tuple[str, int, int]:
    return (place.file, place.cell, place.line)


def _told_elsewhere(read: Finding, traced: Finding) -> Finding:
    """A finding where it is written, which running reaches at another line."""
    also = () if _line(traced.place) in _led_by(read) else (Evidence(traced.current, traced.place),)
    return replace(
        read,
        confidence=_surer(read, traced),
        preview=read.preview and traced.preview,
        evidence=(*read.evidence, *also),
    )


# How the trace engine calls a value for which it has no name: "the f32[8] of line 3".
_NAMELESS = re.compile(r"\bthe \w+\[[^\]]*\] of line \d")


def _better_told(one: Finding, other: Finding) -> Finding:
    first, second = sorted((one, other), key=lambda it: it.engine is Engine.SOURCE)
    words = f"{first.current} {first.fix}"
    told = second if _NAMELESS.search(words) else first
    return replace(
        told,
        confidence=_surer(first, second),
        preview=first.preview and second.preview,
        evidence=told.evidence or first.evidence or second.evidence,
    )


def _surer(one: Finding, other: Finding) -> Confidence:
    return one.confidence if one.confidence is Confidence.CERTAIN else other.confidence


def _order(finding: Finding) -> tuple[bool, int, str, int, Place, str]:
    place = finding.place
    is_likely = finding.confidence is Confidence.LIKELY
    return (is_likely, -finding.severity.rank, place.file, place.cell, place, finding.code)
