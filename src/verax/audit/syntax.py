"""The syntax of an expression that stands in a text, as in an annotation between quotes."""

from __future__ import annotations

import ast
import warnings


def expression_in(text: str) -> ast.expr | None:
    """The expression that a text is, or `None`: a program may have any text in that place."""
    try:
        with warnings.catch_warnings():
            # What Python thinks of it is not for our reader.
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval").body
    # A NUL, half of a character or a number of too many digits is a `ValueError`.
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
