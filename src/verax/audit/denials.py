"""Entries of what is verified that a finding denies: a report never holds both.

An entry and a finding are about the same thing if their rules are of one family and they share a
line: that of the entry, and that of the finding or of a step that led to it. Entries of some rules
are about all that a function runs (`Rule.proves_all`); any finding in there denies them.
"""

from __future__ import annotations

from collections.abc import Iterable

from .finding import Finding, Place, Verified


def undenied(
    verified: Iterable[Verified], findings: Iterable[Finding], one_trace: bool = False
) -> tuple[Verified, ...]:
    """The entries that no finding denies, each once.

    With `one_trace`, all of them are of one traced function, whatever it calls.
    """
    found = tuple(findings)
    return tuple(
        entry
        for entry in dict.fromkeys(verified)
        if not any(_denies(it, entry, one_trace) for it in found)
    )


def _denies(finding: Finding, entry: Verified, one_trace: bool) -> bool:
    from .rules.registry import all_rules

    if finding.family != entry.family:
        return False
    if entry.place is None:
        return True
    places = [finding.place, *(it.place for it in finding.evidence if it.place is not None)]
    if any((it.file, it.line) == (entry.place.file, entry.place.line) for it in places):
        return True
    is_of_all = any(it.proves_all for it in all_rules() if it.code == entry.code)
    return is_of_all and (one_trace or any(_is_within(it, entry.place) for it in places))


def _is_within(place: Place, function: Place) -> bool:
    """Whether a place is in a function, or in one that it defines."""
    return place.file == function.file and (
        place.function == function.function or place.function.startswith(f"{function.function}.")
    )
