"""Where a report goes: to stdout, whatever that is, or to a file, whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable

from .errors import UsageError
from .plain import inert, one_line
from .source.discover import SUFFIXES

# What to write where characters beyond ASCII cannot be written.
_IN_ASCII = str.maketrans(
    {
        "\N{MULTIPLICATION SIGN}": "x",
        "→": "->",
        "…": "...",
        "·": "-",
        "✓": "+",
        "│": "|",
        "├": "|",
        "└": "`",
        "─": "-",
    }
)


class ReaderGoneError(Exception):
    """Whoever read stdout has gone away (`| head`), so that there is nothing left to do."""


def open_standard_streams() -> None:
    """Give stdin, stdout and stderr a descriptor each, where they are closed.

    Otherwise the next file that is opened, or another process's pipe, would take their place.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest that is free. Processes that we start need it, too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)


def write_stdout(text: str) -> None:
    """Write to stdout.

    Raises:
        ReaderGoneError: Nobody reads it any more.
        UsageError: It cannot be written to.
    """
    if sys.stdout is None:
        raise UsageError("stdout is closed; write to a file, with -o")
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_IN_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        # Python flushes once more when it ends, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise ReaderGoneError from None
        raise UsageError(f"stdout: cannot be written: {error.strerror or error}") from None


def write_error(text: str) -> None:
    """Write one line to stderr; where that is closed or full, there is nobody to tell."""
    _tell("error", text)


def write_note(text: str) -> None:
    """Write a line to stderr that is no error."""
    _tell("note", text)


def _tell(kind: str, text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(inert(f"verax: {kind}: {one_line(text)}\n"))
        sys.stderr.flush()
    except OSError:
        pass


def refuse_source(file: str, option: str, targets: Iterable[str]) -> None:
    """Complain of a file to write to that is one to read: a mistyped call must not cost a program.

    Raises:
        UsageError: It is a target, or there is a Python file or a notebook of this name.
    """
    if not os.path.exists(file) or os.path.isdir(file):
        return
    if file.endswith(SUFFIXES):
        raise UsageError(f"{option} {file}: would replace a Python file or notebook")
    for target in targets:
        if os.path.exists(target) and os.path.samefile(file, target):
            raise UsageError(f"{option} {file}: would replace {target}, which is to be audited")


def write_file(file: str, text: str, option: str = "-o") -> None:
    """Write a file, which an option names, so that nobody ever sees half of it.

    Raises:
        UsageError: It cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    try:
        mode = _mode(file)
        if mode is None or stat.S_ISREG(mode):
            _replace(file, data, mode)
        elif stat.S_ISLNK(mode):
            raise UsageError(f"{option} {file}: is a link; name the file that it leads to")
        else:
            _write_through(file, data)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{option} {file}: cannot be written: {reason}") from None


def _mode(file: str) -> int | None:
    """What there is: nothing, a file, a link to one, or something else, perhaps by a link."""
    try:
        own = os.lstat(file).st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISLNK(own):
        return own
    try:
        behind = os.stat(file).st_mode
    except OSError:
        return own  # it leads nowhere
    # `/dev/stdout` is a link to a pipe or a terminal, which nobody can replace.
    return own if stat.S_ISREG(behind) or stat.S_ISDIR(behind) else behind


def _replace(file: str, data: bytes, mode: int | None) -> None:
    """Put a new file in the place of what is there, which others see before or after, not between.

    The new one is made under a name that nobody can know, so that nobody can put a link there.
    """
    import secrets  # slow to load, and seldom needed

    part = os.path.join(os.path.dirname(os.path.abspath(file)), f".{secrets.token_hex(16)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
        if mode is not None:
            os.chmod(part, stat.S_IMODE(mode) & 0o777)
        os.replace(part, file)
    except BaseException:
        os.unlink(part)
        raise


def _write_through(file: str, data: bytes) -> None:
    """Write to a device, or to a pipe that somebody reads."""
    descriptor = os.open(file, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "O_NONBLOCK"):
        os.set_blocking(descriptor, True)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
