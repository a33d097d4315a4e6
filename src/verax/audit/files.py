"""Reading what somebody else has written: an ordinary file, up to a limit.

A pipe blocks until somebody writes to it, and a device may have no end. Neither is opened for
reading, but for what a shell has connected us to (`<(…)`, `/dev/stdin`).
"""

from __future__ import annotations

import os
import stat
import sys
from typing import BinaryIO

from .errors import UsageError

# What nobody writes by hand: settings, baselines, lists of what to ignore.
MAX_BYTES = 50_000_000

NOT_ORDINARY = "it is no ordinary file"

_PIECE = 1 << 20
# Not every system has both.
_BINARY, _NO_WAITING = getattr(os, "O_BINARY", 0), getattr(os, "O_NONBLOCK", 0)


class LimitError(OSError):
    """The file has more bytes than it may have."""

    @classmethod
    def of(cls, limit: int) -> LimitError:
        """The error that says what the limit is."""
        return cls(0, f"it is larger than {_size(limit)}")


def read_bytes(path: str | os.PathLike[str], limit: int = MAX_BYTES) -> bytes:
    """The content of an ordinary file.

    Raises:
        LimitError: It has more than `limit` bytes.
        OSError: It cannot be read, or is no ordinary file; `strerror` says why.
    """
    path = os.fspath(path)
    try:
        with os.fdopen(_opened(path), "rb") as file:
            data = _read(file, limit)
    except ValueError as error:  # a NUL, or half of a character, in its name
        raise OSError(0, str(error)) from None
    if len(data) > limit:
        raise LimitError.of(limit)
    return data


def _opened(path: str) -> int:
    # Without waiting for somebody who writes; that means nothing to an ordinary file.
    descriptor = os.open(path, os.O_RDONLY | _BINARY | _NO_WAITING)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    if stat.S_ISFIFO(mode) and _is_own_pipe(path):
        os.set_blocking(descriptor, True)
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(0, "Is a directory")
    raise OSError(0, NOT_ORDINARY)


def is_readable_pipe(path: str) -> bool:
    """Whether it is no ordinary file, but a pipe that a shell has connected us to."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode) and _is_own_pipe(path)
    except (OSError, ValueError):
        return False


def _is_own_pipe(path: str) -> bool:
    """Whether a path leads to what is open here, and has no name among the files."""
    own = os.path.realpath("/dev/fd")
    return os.path.dirname(os.path.realpath(path)) == own


def _read(file: BinaryIO, limit: int) -> bytes:
    """A file, up to a byte beyond the limit. Memory is taken for what there is, as it comes."""
    pieces: list[bytes] = []
    left = limit + 1
    while left > 0 and (piece := file.read(min(left, _PIECE))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def read_stdin(limit: int) -> bytes:
    """What comes from standard input; of what is longer than `limit`, a byte more than that.

    Raises:
        UsageError: There is none.
    """
    if sys.stdin is None:
        raise UsageError("target '-': standard input is closed")
    try:
        return _read(sys.stdin.buffer, limit)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"target '-': standard input cannot be read: {reason}") from None


def _size(count: int) -> str:
    return f"{count / 1e6:g} MB" if count >= 1_000_000 else f"{count} bytes"
