"""Edits of the source that a finding proposes, as exact text.

What an edit does not change stays as the file has it, with comments, quotes and line breaks:
unparsing the syntax would lose them. An edit is made from the parts of the syntax that change, and
covers the text from the first to the last of them. There is none where the text is not at hand as
the syntax says, as in a cell of a notebook.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from ..finding import Edit, Place

if TYPE_CHECKING:
    from .frame import Frame


def edited(frame: Frame, changes: Mapping[ast.AST, str]) -> Edit | None:
    """The edit that writes some pieces of syntax, none inside of another, as these texts."""
    source = _Source(frame)
    found = [(source.span(part), text.encode()) for part, text in changes.items()]
    parts = sorted((span, text) for span, text in found if span is not None)
    if not parts or len(parts) < len(found):
        return None
    start, end = parts[0][0][0], parts[-1][0][1]
    new = source.text[start:end]
    for (first, last), text in reversed(parts):
        new = new[: first - start] + text + new[last - start :]
    return Edit(source.place(start), source.text[start:end].decode(), new.decode())


def written(frame: Frame, syntax: ast.AST) -> str | None:
    """A piece of syntax as the file has it."""
    source = _Source(frame)
    span = source.span(syntax)
    return None if span is None else source.text[slice(*span)].decode()


def replaced(frame: Frame, syntax: ast.AST, template: str, *parts: ast.AST) -> Edit | None:
    """The edit that writes a piece of syntax as a template, filled in with other pieces."""
    texts = [written(frame, it) for it in parts]
    filled = [it for it in texts if it is not None]
    return edited(frame, {syntax: template.format(*filled)}) if len(filled) == len(texts) else None


def swapped(frame: Frame, one: ast.AST, other: ast.AST) -> Edit | None:
    """The edit in which two pieces of syntax change places."""
    first, second = written(frame, one), written(frame, other)
    if first is None or second is None:
        return None
    return edited(frame, {one: second, other: first})


def with_argument(frame: Frame, call: ast.AST, name: str, value: str) -> Edit | None:
    """The edit that gives an argument of a call by keyword, or another number for one.

    None where it is given as something else, which may decide about other calls as well.
    """
    if not isinstance(call, ast.Call) or any(it.arg is None for it in call.keywords):
        return None
    given = next((it.value for it in call.keywords if it.arg == name), None)
    if given is not None:
        return edited(frame, {given: value}) if _is_written_out(given) else None
    arguments = [*call.args, *(it.value for it in call.keywords)]
    if not arguments:
        return None
    last = max(arguments, key=lambda it: (it.end_lineno or 0, it.end_col_offset or 0))
    return replaced(frame, last, f"{{}}, {name}={value}", last)


def _is_written_out(syntax: ast.expr) -> bool:
    try:
        ast.literal_eval(syntax)
    except ValueError:
        return False
    return True


class _Source:
    """The text of a frame's file, by the positions of syntax, which count bytes of UTF-8."""

    def __init__(self, frame: Frame):
        module = frame.module
        lines = [] if module.path.endswith(".ipynb") else module.text.splitlines(keepends=True)
        self.text: bytes = module.text.encode()
        self._starts: list[int] = [0, *accumulate(len(line.encode()) for line in lines)]
        self._frame: Frame = frame

    def span(self, syntax: ast.AST) -> tuple[int, int] | None:
        """Where a piece of syntax starts and ends."""
        line, last = getattr(syntax, "lineno", 0), getattr(syntax, "end_lineno", None) or 0
        if not 0 < line <= last < len(self._starts):
            return None
        start: int = self._starts[line - 1] + getattr(syntax, "col_offset", 0)
        end: int = self._starts[last - 1] + (getattr(syntax, "end_col_offset", None) or 0)
        return (start, end) if start < end else None

    def place(self, offset: int) -> Place:
        """The position of a byte."""
        line = max(number for number, start in enumerate(self._starts) if start <= offset)
        column = offset - self._starts[line] + 1
        return Place(self._frame.module.path, line + 1, column, self._frame.name)
