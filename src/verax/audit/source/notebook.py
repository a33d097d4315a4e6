"""Jupyter notebooks: their cells of code, and Python in place of IPython's own syntax."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, cast

# Magics of a whole cell behind which Python stands; behind any other stands something else.
_PYTHON_CELL_MAGICS = {"time", "timeit", "capture", "prun", "memit", "mprun", "debug", "python3"}
# Magics of a line that run the Python behind them.
_PYTHON_LINE_MAGIC = re.compile(r"(\s*)(%(?:time|timeit|prun|memit)\s+)(?=[^\s-])")
_ASSIGNED_MAGIC = re.compile(r"(\s*[\w.,\s\[\]'\"]+=\s*)[!%](?!=)")
# What a magic becomes: a statement in its place, so that a block keeps its body.
_NOTHING = "pass"
# What a magic gives is not known; this is how IPython itself calls one.
_UNKNOWN = "get_ipython()"


class NotebookError(Exception):
    """The file is no notebook of Python; the text says why."""


@dataclass(frozen=True)
class Cell:
    """A cell of code. `number` counts all cells of the notebook, from one."""

    number: int
    text: str


def code_cells(data: bytes) -> list[Cell]:
    """The cells of code in a notebook's file.

    Raises:
        NotebookError: It is none, or one of another language.
    """
    try:
        content = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise NotebookError(f"it is no UTF-8: {error.reason} at byte {error.start}") from None
    except RecursionError:
        raise NotebookError("its JSON is nested too deeply") from None
    except ValueError as error:
        raise NotebookError(f"it is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise NotebookError("it is JSON, but no notebook")
    notebook = cast(dict[str, Any], content)
    language = _language(notebook)
    if language and not language.lower().startswith(("python", "ipython")):
        raise NotebookError(f"its cells are {language}, not Python")
    cells = _cells(notebook)
    if cells is None:
        raise NotebookError("it is JSON, but no notebook: it has no cells")
    return [
        Cell(number, _text(cell))
        for number, cell in enumerate(cells, 1)
        if isinstance(cell, dict) and cell.get("cell_type") == "code"
    ]


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for table, key in (("language_info", "name"), ("kernelspec", "language")):
        part = metadata.get(table) if isinstance(metadata, dict) else None
        name = part.get(key) if isinstance(part, dict) else None
        if isinstance(name, str):
            return name
    return ""


def _cells(notebook: dict[str, Any]) -> list[Any] | None:
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = notebook.get("worksheets")  # before nbformat 4
    if not isinstance(sheets, list):
        return None
    found: list[Any] = []
    for sheet in sheets:
        inside = sheet.get("cells") if isinstance(sheet, dict) else None
        found += inside if isinstance(inside, list) else []
    return found


def _text(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    text = source if isinstance(source, str) else ""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_magics(text: str) -> str:
    """A cell's text in which each line that only IPython knows is one of Python.

    Lines stay where they are, and so do columns, where a magic has Python behind it.
    """
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if lines[first].startswith("%%"):
        words = lines[first][2:].split()
        if not words or words[0] not in _PYTHON_CELL_MAGICS:
            return "\n" * (len(lines) - 1)
        lines[first] = ""
    changed: list[str] = []
    inside = _Inside()
    in_magic = False
    for line in lines:
        if in_magic:
            new, in_magic = "", line.endswith("\\")
        elif inside.anything:
            new = line
            inside.read(line)
        else:
            new, is_magic = _as_python(line)
            in_magic = is_magic and line.endswith("\\")
            inside.read(new)
        changed.append(new)
    return "\n".join(changed)


def _as_python(line: str) -> tuple[str, bool]:
    """A line that starts a statement as Python, and whether it was a magic that may go on."""
    stripped = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    timed = _PYTHON_LINE_MAGIC.match(line)
    if timed:
        return f"{timed[1]}{_NOTHING}{';':>{len(timed[2]) - len(_NOTHING)}}{line[timed.end() :]}", (
            False
        )
    if stripped.startswith(("%", "!", "?")):
        return indent + _NOTHING, True
    if stripped.endswith("?") and "#" not in stripped:
        return indent + _NOTHING, False
    assigned = _ASSIGNED_MAGIC.match(line)
    if assigned:
        return assigned[1] + _UNKNOWN, True
    return line, False


class _Inside:
    """Whether the next line continues what is open: a bracket, a string, a backslash."""

    def __init__(self) -> None:
        self._depth = 0
        self._quote = ""
        self._continued = False

    @property
    def anything(self) -> bool:
        return self._depth > 0 or bool(self._quote) or self._continued

    def read(self, line: str) -> None:
        """Take a line into account."""
        at = 0
        while at < len(line):
            char = line[at]
            if self._quote:
                if char == "\\":
                    at += 1
                elif line.startswith(self._quote, at):
                    at += len(self._quote) - 1
                    self._quote = ""
            elif char == "#":
                break
            elif char in "\"'":
                self._quote = line[at : at + 3] if line[at : at + 3] == char * 3 else char
                at += len(self._quote) - 1
            elif char in "([{":
                self._depth += 1
            elif char in ")]}":
                self._depth = max(0, self._depth - 1)
            at += 1
        self._continued = line.endswith("\\")
        if len(self._quote) == 1 and not self._continued:
            self._quote = ""  # an ordinary string ends with its line, closed or not
