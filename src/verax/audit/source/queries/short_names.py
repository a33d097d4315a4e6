"""Which of some keys a variable is short for: `kp` and `kd` for "proportional" and "derivative"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile


def stood_for(names: Sequence[str], keys: Sequence[str]) -> list[str]:
    """The keys that names stand for, one for each; none unless every key has exactly one."""
    if len(names) != len(keys) or len(names) < 2:
        return []
    for words in (list(names), _without_common(names)):
        found = [_only(word, keys) for word in words]
        if sorted(found) == sorted(keys):
            return found
    return []


def _without_common(names: Sequence[str]) -> list[str]:
    """What tells names apart: they may share their beginning and their end."""
    start = _same_letters(names)
    rest = [it[start:] for it in names]
    stop = _same_letters([it[::-1] for it in rest])
    return [it[: len(it) - stop].strip("_") for it in rest]


def _same_letters(names: Sequence[str]) -> int:
    """With how many letters all of some names begin."""
    return sum(1 for _ in takewhile(lambda it: len(set(it)) == 1, zip(*names, strict=False)))


def _only(name: str, keys: Sequence[str]) -> str:
    if name in keys:
        return name
    found = [key for key in keys if _is_short(name.lower(), key.lower())]
    return found[0] if len(found) == 1 else ""


def _is_short(name: str, key: str) -> bool:
    words = [it for it in key.split("_") if it]
    initials = "".join(it[0] for it in words)
    return name != "" and (key.startswith(name) or name in (*words, initials))
