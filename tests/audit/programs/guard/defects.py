"""Seeded defects: edits that break a program, and what is known to be reported of each.

They stand in `defects/<program>.toml` and were chosen before anybody looked at what is reported:

    [[defect]]
    what = "the value of the next step is not masked where an episode ends"
    family = "env"
    also = []                    # other families that it belongs to
    old = "* (1 - done)"         # occurs once in the program
    new = ""
    found = ["EN002"]            # the codes that are reported; empty where it is missed
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .pins import Entries, Entry


@dataclass(frozen=True)
class Defect:
    """One edit of a program, and the codes that are known to be reported because of it."""

    what: str
    family: str
    old: str
    new: str
    found: tuple[str, ...]
    also: tuple[str, ...] = ()

    def applied(self, text: str) -> str:
        """The program with the defect.

        Raises:
            ValueError: What it replaces does not occur, or occurs several times.
        """
        count = text.count(self.old)
        if count != 1:
            raise ValueError(f"what the defect {self.what!r} replaces occurs {count} times")
        return text.replace(self.old, self.new)


def read_defects(file: Path) -> tuple[Defect, ...]:
    """The defects in a file; none if there is no such file."""
    if not file.exists():
        return ()
    listed = tomllib.loads(file.read_text())["defect"]
    return tuple(
        Defect(**{key: tuple(it) if isinstance(it, list) else it for key, it in one.items()})
        for one in listed
    )


def write_found(file: Path, found: Sequence[Sequence[str]]) -> None:
    """Write which codes are reported for each defect, and leave all else as it is."""
    head, *blocks = re.split(r"(?m)^(?=\[\[defect\]\])", file.read_text())
    if len(blocks) != len(found):
        raise ValueError(f"{file.name}: a [[defect]] does not begin its line")
    written = [
        re.sub(r"(?ms)^found\s*=\s*\[.*?\]", f"found = [{', '.join(map(_quoted, codes))}]", block)
        for block, codes in zip(blocks, found, strict=True)
    ]
    file.write_text("".join((head, *written)))


def _quoted(code: str) -> str:
    return f'"{code}"'


def codes_added(before: Entries, after: Entries) -> dict[str, list[Entry]]:
    """The codes of which there are more findings after an edit, with the findings that are new."""
    added: dict[str, list[Entry]] = {}
    for code in sorted(_codes(after.findings) - _codes(before.findings)):
        of_code = [it for it in after.findings.values() if it.code == code]
        added[code] = [it for it in of_code if it.key not in before.findings] or of_code
    return added


def _codes(findings: Mapping[str, Entry]) -> Counter[str]:
    return Counter(it.code for it in findings.values())
