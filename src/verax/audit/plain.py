"""Text that shows what it holds: nothing of it acts on a terminal, or on what reads a log.

File names, settings and programs are written by others. Whatever of them goes to a stream or into a
report passes through here first.
"""

from __future__ import annotations

import re
import unicodedata

# Cc: control characters, among them the escape that starts a terminal's commands. Cf: invisible
# ones, among them those that turn the direction of writing. Cs: halves of characters. Zl, Zp: what
# some readers take for the end of a line.
_INVISIBLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}

# What hosts of continuous integration take for a command in a log: `::name::` at the beginning of a
# line (GitHub), `##[name]`, `##vso[name]` and `##teamcity[name]` anywhere in one.
_COMMAND_AT_START = re.compile(r"^(\s*:)(?=:)", re.MULTILINE)
COMMAND_IN_LINE = re.compile(r"##(?=\w*\[)")


def plain(text: str) -> str:
    """The text with control and invisible characters as escapes; line breaks stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    if char == "\t":
        return "    "
    if char == "\n" or unicodedata.category(char) not in _INVISIBLE:
        return char
    return char.encode("unicode_escape").decode("ascii")


def one_line(text: str) -> str:
    """The same in one line."""
    return plain(" ".join(text.split()))


def inert(text: str) -> str:
    """The text of a log, or a part of it, without commands to what reads logs."""
    return COMMAND_IN_LINE.sub(r"#\\#", _COMMAND_AT_START.sub(r"\1\\", text))


def encodable(text: str) -> str:
    """The text with halves of characters as escapes: no encoding has them."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
