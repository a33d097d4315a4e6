"""Settings of a project: `[tool.verax]` in the nearest pyproject.toml."""

from __future__ import annotations

import os
import re
import reprlib
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from .close import close_names
from .errors import UsageError
from .files import read_bytes

FORMATS = ("text", "concise", "agent", "json", "markdown", "html", "sarif", "github")
FAIL_ON = ("certain", "critical", "error", "minor", "never")


# More than anybody writes by hand.
_MOST_BYTES = 1_000_000
# A key of very many parts (`a.b.c`): the time and the memory that Python's parser takes grow with
# their number squared.
_WORD = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"""(?<![\w\\-])(?:{_WORD}[ \t]*+\.[ \t]*+){{32}}""")


@dataclass(frozen=True)
class Settings:
    """What a project has set; `None` where it has not.

    `file` says where, for messages; names of files are relative to `folder`.
    """

    file: str = ""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: str | None = None
    format: str | None = None
    exclude: tuple[str, ...] = ()
    baseline: str | None = None
    max_file_size: int | None = None
    trace_timeout: float | None = None
    preview: bool = False
    allow_unread: bool = False
    folder: Path | None = None


def read_settings(start: Path) -> Settings:
    """The settings of the project that a folder belongs to.

    The nearest pyproject.toml counts, in the folder itself or above, with or without settings.

    Raises:
        UsageError: The file cannot be read, or has a setting that does not exist.
    """
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if os.path.isfile(file):  # `Path` raises where a name is too long
            return _read(file, start)
    return Settings()


def _read(file: Path, start: Path) -> Settings:
    shown = str(file.relative_to(start)) if file.is_relative_to(start) else str(file)
    try:
        text = read_bytes(file, _MOST_BYTES).decode("utf-8")
        if _DEEP_KEY.search(text):
            raise RecursionError
        content = tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"{shown} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise UsageError(f"{shown} cannot be read: {error}") from None
    except RecursionError:
        raise UsageError(f"{shown} cannot be read: it is nested too deeply") from None
    tools = content.get("tool", {})
    table = tools.get("verax", {}) if isinstance(tools, dict) else tools
    where = f"{shown}, [tool.verax]"
    if not isinstance(table, dict):
        raise UsageError(f"{where}: is not a table")
    settings = cast(dict[str, Any], table)
    known = (
        "select", "ignore", "preview", "fail-on", "format", "exclude", "baseline", "max-file-size",
        "allow-unread", "trace-timeout",
    )  # fmt: skip
    for key in settings:
        if key not in known:
            close = close_names(key, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(known)}"
            raise UsageError(f"{where}: there is no setting {key!r}; {hint}")
    return Settings(
        shown,
        _texts(settings, "select", where, "codes, as in ['AX', 'RK001']"),
        _texts(settings, "ignore", where, "codes, as in ['AX', 'RK001']"),
        _choice(settings, "fail-on", FAIL_ON, where),
        _choice(settings, "format", FORMATS, where),
        _texts(settings, "exclude", where, "patterns, as in ['docs/', '*_pb2.py']"),
        _file_name(settings, "baseline", where),
        _bytes(settings, "max-file-size", where),
        _seconds(settings, "trace-timeout", where),
        _switch(settings, "preview", where),
        _switch(settings, "allow-unread", where),
        file.parent,
    )


def _texts(settings: dict[str, Any], key: str, where: str, what: str) -> tuple[str, ...]:
    value = settings.get(key, [])
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list):
        items = cast(list[object], value)
        if all(isinstance(item, str) for item in items):
            return tuple(str(item) for item in items)
    raise UsageError(f"{where}: {key} is a list of {what}, not {_shown(value)}")


def _file_name(settings: dict[str, Any], key: str, where: str) -> str | None:
    value = settings.get(key)
    if value is None or (isinstance(value, str) and value):
        return value
    raise UsageError(f"{where}: {key} is the name of a file, not {_shown(value)}")


def _bytes(settings: dict[str, Any], key: str, where: str) -> int | None:
    value = settings.get(key)
    if value is None or (type(value) is int and value > 0):
        # No file has more, and Python shows no number of any length.
        return value and min(value, sys.maxsize)
    raise UsageError(f"{where}: {key} is a number of bytes, not {_shown(value)}")


def _seconds(settings: dict[str, Any], key: str, where: str) -> float | None:
    value = settings.get(key)
    if value is None or (type(value) in (int, float) and 0 < value < float("inf")):
        return value and min(value, sys.maxsize)
    raise UsageError(f"{where}: {key} is a number of seconds, not {_shown(value)}")


def _switch(settings: dict[str, Any], key: str, where: str) -> bool:
    value = settings.get(key, False)
    if isinstance(value, bool):
        return value
    raise UsageError(f"{where}: {key} is true or false, not {_shown(value)}")


def _choice(settings: dict[str, Any], key: str, choices: tuple[str, ...], where: str) -> str | None:
    value = settings.get(key)
    if value is None or value in choices:
        return value
    raise UsageError(f"{where}: {key} is one of {', '.join(choices)}, not {_shown(value)}")


def _shown(value: object) -> str:
    """A wrong value, or its beginning: it may be of any size and depth."""
    return reprlib.repr(value)
