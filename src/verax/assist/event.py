"""The event that an assistant describes on standard input: what it has done, and to which files.

Assistants agree on JSON, and on little else. Claude Code and those that follow it send

    {"hook_event_name": "PostToolUse", "tool_name": "Edit", "cwd": "project",
     "tool_input": {"file_path": "train.py", ...}}

others have `filePath`, `path` or a patch in its place, at another depth. So files are looked for
wherever they may be, and what is not known is passed over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

_PATHS = frozenset(
    "file_path filePath filepath file_paths filePaths notebook_path notebookPath path paths "
    "absolute_path target_file file files uri".split()
)
# Of these, some assistants make a JSON text of its own.
_ENCODED = frozenset(("toolArgs", "tool_args", "tool_input", "arguments"))
_EVENTS = ("hook_event_name", "hookEventName", "event_name", "event")
_TOOLS = ("tool_name", "toolName", "tool")
_FOLDERS = ("cwd", "working_directory", "workspace_roots")

# What ends with 2 before something is done forbids it, and nothing has been changed yet.
_AFTER = re.compile(r"post|after|stop", re.IGNORECASE)
# Tools that name files, and leave them as they are.
_READS = re.compile(r"(?:notebook)?_?(?:read|view|grep|glob|search|list|ls|open|fetch)", re.I)
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update) File|Move to): (.+?)\s*$", re.MULTILINE)
_PATCH = "*** Begin Patch"


@dataclass(frozen=True)
class Event:
    """What has happened in a folder (empty: not said) to files.

    `files` is `None` where something was done and nobody says to what. `repeated` says that the
    assistant goes on only because a hook has asked it to, which must end at some time.
    """

    folder: str = ""
    files: tuple[str, ...] | None = ()
    repeated: bool = False


def parse_event(text: bytes) -> Event:
    """The event that a text describes.

    Raises:
        ValueError: It describes none.
    """
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("it is no JSON object")
        return _event(cast(dict[str, object], data))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _event(data: dict[str, object]) -> Event:
    name, tool = _text(data, _EVENTS), _text(data, _TOOLS)
    folder = _text(data, _FOLDERS)
    if (name and not _AFTER.search(name)) or _READS.match(tool):
        return Event(folder)
    files = tuple(dict.fromkeys(_files(data)))
    repeated = data.get("stop_hook_active") is True or bool(data.get("loop_count"))
    return Event(folder, files if files or not name else None, repeated)


def _text(data: dict[str, object], names: tuple[str, ...]) -> str:
    """The first text that there is under one of some names, or first in a list there."""
    for name in names:
        value = data.get(name)
        if isinstance(value, list) and value:
            value = cast(list[object], value)[0]
        if isinstance(value, str) and value:
            return value
    return ""


def _files(value: object, is_path: bool = False) -> Iterator[str]:
    """The names of files in an event; a text counts if it `is_path`, or as a patch."""
    if isinstance(value, dict):
        for name, part in cast(dict[str, object], value).items():
            yield from _files(_decoded(part) if name in _ENCODED else part, name in _PATHS)
    elif isinstance(value, list):
        for part in cast(list[object], value):
            yield from _files(part, is_path)
    elif isinstance(value, str):
        if is_path and value:
            yield _local(value)
        elif _PATCH in value:
            yield from _PATCHED.findall(value)


def _decoded(value: object) -> object:
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _local(path: str) -> str:
    if not path.startswith("file://"):
        return path
    from urllib.request import url2pathname  # slow to load, and seldom needed

    return url2pathname(path.removeprefix("file://"))
