"""Stop a program after a few steps: it need not train to its end to show what it calls."""

from __future__ import annotations

from types import CodeType, FrameType


class StepsDoneError(BaseException):
    """Ends the program after as many steps as were asked for."""


class Steps:
    """Counts how often functions are called from each line of the program.

    A step of the program is a call from the outermost frame that calls any line twice: what it
    calls in turn, however often, is part of the step.
    """

    def __init__(self, most: int):
        self._most = most
        self._counts: dict[tuple[CodeType, int], int] = {}
        self._depths: dict[tuple[CodeType, int], int] = {}

    def count(self, caller: FrameType) -> None:
        """Count a call.

        Raises:
            StepsDoneError: It is one more than were asked for.
        """
        line = (caller.f_code, caller.f_lineno)
        depth = _depth(caller)
        self._counts[line] = self._counts.get(line, 0) + 1
        self._depths[line] = min(depth, self._depths.get(line, depth))
        repeated = [self._depths[it] for it, count in self._counts.items() if count > 1]
        if self._counts[line] > self._most and self._depths[line] <= min(repeated):
            raise StepsDoneError


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    return depth
