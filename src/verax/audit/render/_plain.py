"""Text that shows what it holds: control characters become visible instead of acting."""

from __future__ import annotations

import unicodedata

# Cc: control characters, among them the escape that starts a terminal's commands. Cf: invisible
# ones, among them those that turn the direction of writing. Cs: halves of characters.
_INVISIBLE = {"Cc", "Cf", "Cs"}


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
