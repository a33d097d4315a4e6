"""Where a report goes: to stdout, whatever that is, or to a file, whole or not at all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import UsageError

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


def write_stdout(text: str) -> None:
    """Write to stdout; a reader that has gone away (`| head`) is no error."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = text.translate(_IN_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it ends, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_file(file: str, text: str, option: str = "-o") -> None:
    """Write a file, which an option names, so that nobody ever sees half of it.

    Raises:
        UsageError: It cannot be written.
    """
    path = Path(file).resolve()
    data = text.encode("utf-8", "backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe
            return
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            part.write_bytes(data)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{option} {file}: cannot be written: {error.strerror or error}") from None
