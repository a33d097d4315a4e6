"""Fold sequences that repeat: one item, or a block of several, that stand many times in a row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

# A block that repeats is found up to this length; longer ones are rare, and cost time to compare.
_LONGEST_BLOCK = 256
_CANDIDATES = 8


@dataclass(frozen=True)
class Run:
    """`length` items from `start` on, `times` in a row."""

    start: int
    length: int
    times: int


def runs(forms: Sequence[Hashable]) -> list[Run]:
    """A sequence as runs, each as long as it goes; the first block that repeats is taken.

    Linear for sequences that repeat or do not; a few candidates are compared at each position.
    """
    following = _following(forms)
    found: list[Run] = []
    at = 0
    while at < len(forms):
        run = _best(forms, following, at)
        found.append(run)
        at += run.length * run.times
    return found


def _following(forms: Sequence[Hashable]) -> list[int]:
    """For each position, where the same form stands next."""
    after = [len(forms)] * len(forms)
    seen: dict[Hashable, int] = {}
    for position in range(len(forms) - 1, -1, -1):
        after[position] = seen.get(forms[position], len(forms))
        seen[forms[position]] = position
    return after


def _best(forms: Sequence[Hashable], following: Sequence[int], at: int) -> Run:
    then = following[at]
    for _ in range(_CANDIDATES):
        length = then - at
        if then >= len(forms) or length > _LONGEST_BLOCK:
            break
        times = _times(forms, at, length)
        if times > 1:
            return Run(at, length, times)
        then = following[then]
    return Run(at, 1, 1)


def _times(forms: Sequence[Hashable], at: int, length: int) -> int:
    times = 1
    block = forms[at : at + length]
    while forms[at + times * length : at + (times + 1) * length] == block:
        times += 1
    return times
