"""What a report says about a program, recognised after the program was edited, and its judgements.

A finding is recognised by its code, its function and the text of its line, a verified entry by its
code, its function and its claim without line numbers. What is so the same twice is numbered.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from verax.audit.finding import Finding, Verified
from verax.audit.recognise import Recogniser
from verax.audit.record import Verdict, verdict_of
from verax.audit.report import Report

SECTIONS = ("findings", "verified")

_LINES = re.compile(r"\blines? \d+(?:(?:, | and | to )\d+)*")


@dataclass(frozen=True)
class Entry:
    """An entry of a report: what it is recognised by, how to show it, and whether users see it."""

    key: str
    shown: str
    code: str
    preview: bool


@dataclass
class Entries:
    """All entries of one report, by their keys."""

    findings: dict[str, Entry] = field(default_factory=dict[str, Entry])
    verified: dict[str, Entry] = field(default_factory=dict[str, Entry])


def entries_of(report: Report) -> Entries:
    """What a report says."""
    recogniser = Recogniser("/")

    def entries(section: tuple[Finding, ...] | tuple[Verified, ...]) -> dict[str, Entry]:
        seen: Counter[str] = Counter()
        found: dict[str, Entry] = {}
        for it in sorted(section, key=lambda it: (it.place.line if it.place else 0, it.code)):
            claim = it.current if isinstance(it, Finding) else it.claim
            text = recogniser.known(it).text if isinstance(it, Finding) else _steady(claim)
            key = f"{it.code} {it.place.function if it.place else ''}: {text}"
            seen[key] += 1
            if seen[key] > 1:
                key += f" #{seen[key]}"
            where = f"{Path(it.place.file).name}:{it.place.line}" if it.place else "-"
            found[key] = Entry(key, f"{it.code} {where} {claim}", it.code, it.preview)
        return found

    return Entries(entries(report.findings), entries(report.verified))


def _steady(claim: str) -> str:
    """A claim that stays the same when lines above come and go."""
    return _LINES.sub("this line", claim)


Judgements = Mapping[str, Mapping[str, str]]


def differences(name: str, found: Entries, pinned: Judgements) -> Iterator[str]:
    """What is reported and not on record, on record and not reported, unread, or false.

    A false entry of a rule in preview is known to be one, and keeps it there.
    """
    for section in SECTIONS:
        entries: Mapping[str, Entry] = getattr(found, section)
        judged = pinned.get(section, {})
        for key, judgement in judged.items():
            if key not in entries:
                yield f"- {name}: {_one(section)} {key} ({judgement})"
        for key, entry in entries.items():
            verdict = verdict_of(judged[key]) if key in judged else None
            if verdict is None:
                yield f"+ {name}: {_one(section)} {entry.shown}"
            elif verdict is Verdict.UNREAD:
                yield f"? {name}: unread {_one(section)} {entry.shown}"
            elif verdict is Verdict.FALSE and not entry.preview:
                yield f"! {name}: {_one(section)} {entry.shown} ({judged[key]})"


def _one(section: str) -> str:
    return section.removesuffix("s")


def pinned_again(found: Entries, pinned: Judgements) -> dict[str, dict[str, str]]:
    """The judgements of what is reported, new ones as unread."""
    return {
        section: {
            key: pinned.get(section, {}).get(key, Verdict.UNREAD.value)
            for key in getattr(found, section)
        }
        for section in SECTIONS
    }
