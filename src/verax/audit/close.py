"""Names that somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def close_names(wanted: str, known: Iterable[str], most: int = 3) -> tuple[str, ...]:
    """Known names that are close to the wanted one, or hold it, the closest first."""
    names = list(known)
    found = get_close_matches(wanted, names, n=most)
    in_lower = get_close_matches(wanted.lower(), {name.lower() for name in names}, n=most)
    found += [name for name in names if name.lower() in in_lower]
    if len(wanted) >= 3:
        found += sorted(name for name in names if wanted.lower() in name.lower())
    return tuple(dict.fromkeys(found))[:most]


def did_you_mean(wanted: str, known: Iterable[str], most: int = 3) -> str:
    """`; did you mean a or b?`, or nothing where nothing is close."""
    close = close_names(wanted, known, most)
    return f"; did you mean {' or '.join(close)}?" if close else ""
