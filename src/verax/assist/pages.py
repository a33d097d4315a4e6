"""Answers of a size that an assistant can afford, and how it asks for the rest.

An answer is a list of entries. A page holds as many of them as fit, and ends with a cursor: where
the next one starts, and what the whole answer was. If that is another one by then, because a file
has changed, its first page comes, and says so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from verax.audit.errors import UsageError
from verax.audit.plain import inert

MOST_TOKENS = 2000
# What a page says besides its entries.
_RESERVED = 80
# Tokenisers differ. None makes more tokens of code and English than one of three bytes.
_BYTES = 3

_CURSOR = re.compile(r"(\d{1,9})-([0-9a-f]{16})")
_CHANGED = (
    "(what was asked about has changed since that cursor: this is the new answer's beginning)"
)


def tokens(text: str) -> int:
    """How many tokens a text takes, or fewer."""
    return -(-len(text.encode("utf-8", "backslashreplace")) // _BYTES)


def page(entries: Sequence[str], cursor: str = "") -> str:
    """The entries from a cursor on, or from the first, as many as fit.

    Raises:
        UsageError: There is no such cursor.
    """
    mark = _mark(entries)
    start, known = _read(cursor) if cursor else (0, mark)
    changed = known != mark
    if changed or start >= len(entries):
        start = 0
    left = MOST_TOKENS - _RESERVED
    shown: list[str] = []
    for entry in entries[start:]:
        if shown and tokens(entry) + 1 > left:
            break
        shown.append(_cut(entry, left))
        left -= tokens(shown[-1]) + 1
    end = start + len(shown)
    lines = [_CHANGED] * changed + shown
    if end < len(entries):
        lines.append(f"({len(entries) - end} more of {len(entries)}: cursor {end}-{mark})")
    return inert("\n".join(lines))


def _mark(entries: Sequence[str]) -> str:
    text = "\n".join(entries).encode("utf-8", "backslashreplace")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _read(cursor: str) -> tuple[int, str]:
    found = _CURSOR.fullmatch(cursor.strip())
    if found is None:
        raise UsageError("there is no such cursor; pass one as an answer ends with, or none")
    return int(found[1]), found[2]


def _cut(entry: str, left: int) -> str:
    """An entry, or as much of it as fits where it is the only one."""
    if tokens(entry) < left:
        return entry
    data = entry.encode("utf-8", "backslashreplace")[: (left - 2) * _BYTES]
    return data.decode("utf-8", "ignore") + "…"
