"""What functions of the program's get as arguments while JAX traces what calls them.

A function that is mapped is called with one element there, and one that is scanned with a slice;
functions that others call are seen as well. So this is what the code inside of a function works on,
which a static analysis asks for.
"""

from __future__ import annotations

from contextlib import suppress
from types import CodeType, FrameType

from .leaves import leaves_of
from .observations import Signature

# A function that Python's own loops call over and over is looked at so often.
MOST_CALLS, MOST_SIGNATURES = 200, 16


class Bodies:
    """Takes notes of the frames of functions as they begin."""

    def __init__(self) -> None:
        self.signatures: dict[CodeType, set[Signature]] = {}
        self._calls: dict[CodeType, int] = {}

    def entered(self, frame: FrameType) -> None:
        """Take note of a function's arguments. It fails never: the program is behind this frame."""
        code = frame.f_code
        calls = self._calls[code] = self._calls.get(code, 0) + 1
        if code.co_name.startswith("<") or calls > MOST_CALLS:
            return
        known = self.signatures.setdefault(code, set())
        if len(known) < MOST_SIGNATURES:
            with suppress(Exception):
                known.add(_signature(frame))


def _signature(frame: FrameType) -> Signature:
    code, local = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(it for name in names if name in local for it in leaves_of(name, local[name]))
