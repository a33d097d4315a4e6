"""What was proved right, in few lines: of many claims of one rule, the first ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ..finding import Verified

_MOST = 12  # claims, as long as all of them are shown
_EACH = 2  # claims of one rule, where there are more


def few(entries: Iterable[Verified]) -> Iterator[tuple[Verified, str]]:
    """The entries to show, each with a remark about those that it stands for."""
    entries = tuple(entries)
    counts = Counter(entry.code for entry in entries)
    shown: Counter[str] = Counter()
    for entry in entries:
        code = entry.code
        shown[code] += 1
        # One line more says as much as a remark that there is one more.
        all_of_it = len(entries) <= _MOST or counts[code] <= _EACH + 1
        if all_of_it or shown[code] < _EACH:
            yield entry, ""
        elif shown[code] == _EACH:
            yield entry, f"and {counts[code] - _EACH} more of {code}; --format json lists all"
