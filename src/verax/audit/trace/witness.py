"""Which lines of the user's code a trace went through, and by which calls.

JAX traces the function once more, as it would without an audit: nothing stands in for `vmap` or
`grad` here, so that a program which gets through this does not raise while it is traced. What a
static analysis says of lines that were passed can be held against that.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from ..finding import CallPath
from .capture import anew
from .entry import Entry
from .observe import Observer
from .places import UserCode, place_of_function

# What Python gives a frame of its own, although it is written inside of another function's lines.
_INSIDE = frozenset(("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>"))


def witnessed(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    given_by: object = None,
    user_code: UserCode | None = None,
    entered: Callable[[FrameType], None] | None = None,
) -> frozenset[CallPath]:
    """The lines that tracing a function passes; none if that raises.

    `entered` is called with the frame of each of the user's functions as it begins.

    Where `given_by` has made the arguments, it is the outermost call of each path: a static
    analysis names it so where it follows an example.
    """
    user_code = user_code or UserCode(function)
    entry = Entry(function, args, kwargs, Observer(user_code))
    passed = _Passed(user_code, entered)
    with anew(), passed.watching():
        _, failure = entry.jaxpr()
    if failure is not None:
        return frozenset()
    made = place_of_function(given_by) if callable(given_by) else None
    last = () if made is None else ((made.file, made.line),)
    return frozenset((*path, *last) for path in passed.paths)


class _Passed:
    """Follows a trace line by line, in the user's code alone."""

    def __init__(self, user_code: UserCode, entered: Callable[[FrameType], None] | None):
        self._entered = entered
        self._seen: set[CallPath] = set()
        self._raised: set[CallPath] = set()
        self._user_code = user_code
        self._outside: FrameType | None = None

    @contextmanager
    def watching(self) -> Generator[None]:
        """Follow what this thread runs inside."""
        before = sys.gettrace()
        self._outside = sys._getframe(2)
        sys.settrace(self._enter)
        try:
            yield
        finally:
            sys.settrace(before)
            self._outside = None

    def _enter(self, frame: FrameType, event: str, arg: object) -> Callable[..., Any] | None:
        del event, arg
        if not self._is_users(frame.f_code):
            return None
        if self._entered is not None:
            self._entered(frame)
        calls = self._calls_to(frame)
        file = frame.f_code.co_filename

        def follow(frame: FrameType, event: str, arg: object) -> Callable[..., Any]:
            del arg
            path = ((file, frame.f_lineno), *calls)
            if event == "line":
                self._seen.add(path)
            elif event == "exception":
                self._raised.add(path)
            return follow

        return follow

    @property
    def paths(self) -> set[CallPath]:
        """The lines that never raised, not even what is caught further out."""
        return self._seen - self._raised

    def _is_users(self, code: CodeType) -> bool:
        return self._user_code.owns(code.co_filename)

    def _calls_to(self, frame: FrameType) -> CallPath:
        """The lines from which the user's functions were called that led here."""
        found: list[tuple[str, int]] = []
        inner, around = frame, frame.f_back
        while around is not None and around is not self._outside:
            if self._is_users(around.f_code):
                if inner.f_code.co_name not in _INSIDE:
                    found.append((around.f_code.co_filename, around.f_lineno))
                inner = around
            around = around.f_back
        return tuple(found)
