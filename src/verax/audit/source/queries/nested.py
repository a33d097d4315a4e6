"""Pieces of syntax that are inside of each other or apart, looked up by where they are written.

To ask each loop of a function whether it is around a statement, for each statement, takes as long
as the function is long, squared.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable
from typing import Generic, TypeVar

Position = tuple[int, int]
_Part = TypeVar("_Part")


def start_of(syntax: ast.stmt | ast.expr) -> Position:
    """Where a piece of syntax starts, by line and column."""
    return (syntax.lineno, syntax.col_offset)


def end_of(syntax: ast.stmt | ast.expr) -> Position:
    """The first position after a piece of syntax."""
    return (syntax.end_lineno or syntax.lineno, syntax.end_col_offset or 0)


class Nested(Generic[_Part]):
    """Parts of a text, each with its start and its end, of which no two overlap halfway."""

    def __init__(self, parts: Iterable[tuple[Position, Position, _Part]]):
        # Of two that start together, the outer one first.
        ordered = sorted(parts, key=lambda it: (it[0], (-it[1][0], -it[1][1])))
        self._starts = [start for start, _, _ in ordered]
        self._ends = [end for _, end, _ in ordered]
        self._parts = [part for _, _, part in ordered]
        # For each the innermost one around it, by number.
        self._outer: list[int] = []
        open_ones: list[int] = []
        for number, start in enumerate(self._starts):
            while open_ones and self._ends[open_ones[-1]] <= start:
                open_ones.pop()
            self._outer.append(open_ones[-1] if open_ones else -1)
            open_ones.append(number)

    def around(self, position: Position) -> list[_Part]:
        """The parts that hold a position, the outermost first."""
        found: list[_Part] = []
        number = bisect_right(self._starts, position) - 1
        while number >= 0:
            if position < self._ends[number]:
                found.append(self._parts[number])
            number = self._outer[number]
        return found[::-1]
