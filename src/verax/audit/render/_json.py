"""JSON that every reader takes, whatever names and texts are in it."""

from __future__ import annotations

import json
import re
from typing import Any

from ..plain import COMMAND_IN_LINE, encodable

# How `json` writes half of a character, unless the other half is beside it.
_HALF = re.compile(r"\\ud[89a-f]", re.IGNORECASE)


def json_text(data: Any) -> str:
    """The data as indented JSON, in ASCII.

    A file's name may hold bytes that are no text. Python has halves of characters for these, which
    JSON can write but many a reader refuses: they are shown as escapes.
    """
    text = _dumped(data)
    if _HALF.search(text):
        text = _dumped(_encodable(data))
    # The same to whoever reads JSON, and no command to who reads it in a log.
    return COMMAND_IN_LINE.sub(r"#\\u0023", text) + "\n"


def _dumped(data: Any) -> str:
    return json.dumps(data, indent=2, allow_nan=False)


def _encodable(data: Any) -> Any:
    if isinstance(data, str):
        return encodable(data)
    if isinstance(data, dict):
        return {encodable(key): _encodable(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_encodable(value) for value in data]
    return data
