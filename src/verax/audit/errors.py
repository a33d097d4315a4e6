"""What goes wrong before there is anything to audit."""

from __future__ import annotations


class UsageError(Exception):
    """The call or the target is wrong; the text is one line that says how to mend it."""
