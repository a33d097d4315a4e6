"""Stop a program after a few steps: it need not train to its end to show what it calls."""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType, FrameType


class StepsDoneError(BaseException):
    """Ends the program after as many steps as were asked for."""


@dataclass
class _Line:
    """A line of the program that calls transformed functions."""

    depth: int
    first: int
    last: int
    count: int = 0


class Steps:
    """Counts how often functions are called from each line of the program.

    What a step calls in turn, however often, is part of the step. So a line does not count if one
    in an outer frame has been called since: that one is in the same loop, further out. What was
    called there before, to set things up, says nothing.
    """

    def __init__(self, most: int):
        self._most = most
        self._calls = 0
        self._lines: dict[tuple[CodeType, int], _Line] = {}

    def count(self, caller: FrameType) -> None:
        """Count a call.

        Raises:
            StepsDoneError: It is one more than were asked for.
        """
        self._calls += 1
        depth, now = _depth(caller), self._calls
        line = self._lines.setdefault((caller.f_code, caller.f_lineno), _Line(depth, now, now))
        line.depth, line.last, line.count = min(depth, line.depth), now, line.count + 1
        if line.count > self._most and not self._has_outer(line):
            raise StepsDoneError

    def _has_outer(self, line: _Line) -> bool:
        return any(it.depth < line.depth and it.last > line.first for it in self._lines.values())


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
