"""Values without a name, which are called by a phrase: `the value`, `the f32[3] of line 4`.

A message quotes what its reader finds in the program. Whoever writes one knows only that something
is called so; whether that is code is settled here, for all messages.
"""

from __future__ import annotations

import ast
import re

_PHRASE = re.compile(r"`((?:an?|the) [^`]*)`")


def unquoted(text: str) -> str:
    """A text in which no phrase is quoted as if it were code."""
    return _PHRASE.sub(lambda it: it[0] if _is_code(it[1]) else it[1], text)


def quoted_name(text: str, otherwise: str) -> str:
    """What a fix calls a thing: its name, or a phrase for what has none.

    An expression is no name: it may be written on another line, with names that only that one has,
    and to write it again makes another value.
    """
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return otherwise
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return f"`{text}`" if isinstance(node, ast.Name) else otherwise


def _is_code(text: str) -> bool:
    """Whether what begins like a phrase is code with a variable of that name: `a + b`."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
