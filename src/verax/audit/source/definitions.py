"""The functions of a file, by the texts of their definitions.

What was seen of a function in a run holds for as long as its text is the same, wherever in the file
that has moved.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

LAMBDA = "<lambda>"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Definition:
    """A function with its qualified name, the line where it begins, and a digest of its text."""

    syntax: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    name: str
    line: int
    digest: str


def definitions(tree: ast.AST, text: str) -> Iterator[Definition]:
    """All functions of a program, those before that others are inside of."""
    lines = _LINE_END.split(text)
    pending: list[tuple[ast.AST, str]] = [(tree, "")]
    while pending:
        around, prefix = pending.pop()
        for syntax in ast.iter_child_nodes(around):
            inside = prefix
            if isinstance(syntax, _FUNCTIONS):
                name = prefix + getattr(syntax, "name", LAMBDA)
                first = min((syntax.lineno, *(it.lineno for it in _decorators(syntax))))
                yield Definition(syntax, name, first, _digest(lines[first - 1 : syntax.end_lineno]))
                inside = f"{name}."
            elif isinstance(syntax, ast.ClassDef):
                inside = f"{prefix}{syntax.name}."
            pending.append((syntax, inside))


def _decorators(syntax: ast.AST) -> list[ast.expr]:
    return getattr(syntax, "decorator_list", [])


def _digest(lines: list[str]) -> str:
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def digest_at(found: list[Definition], line: int, is_lambda: bool) -> str:
    """The digest of the function that begins in a line; none if it may be one of several."""
    here = [it for it in found if it.line == line]
    here = [it for it in here if isinstance(it.syntax, ast.Lambda) == is_lambda]
    return here[0].digest if len(here) == 1 else ""
