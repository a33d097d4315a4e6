"""What goes wrong before there is anything to audit, or in verax itself."""

from __future__ import annotations


class UsageError(Exception):
    """The call or the target is wrong; the text is one line that says how to mend it."""


class OwnError(Exception):
    """Verax itself failed, in another process; the text is one line that says where."""


def message_of(error: BaseException) -> str:
    """What an exception says. A program's own may raise when it is asked for that."""
    try:
        return str(error)
    except Exception as another:
        return f"(its message cannot be had: {type(another).__name__})"


def described(error: BaseException) -> str:
    """An exception in one line: its kind, and what it says."""
    text = " ".join(message_of(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
