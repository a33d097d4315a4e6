"""Where the user defines a class."""

from __future__ import annotations

import linecache
import re
import sys
from typing import Any

from ...finding import Place


def class_place(cls: type) -> Place | None:
    """Where a class is defined."""
    for member in vars(cls).values():
        code = getattr(getattr(member, "__func__", member), "__code__", None)
        # Not what a decorator made, which lives in the decorator's file.
        if code is not None and code.co_qualname.startswith(f"{cls.__qualname__}."):
            if code.co_filename.startswith("<"):
                continue
            return definition(cls, code.co_filename)
    file = getattr(sys.modules.get(cls.__module__), "__file__", None) or _file_of_globals(cls)
    return definition(cls, file) if file else None


def _file_of_globals(cls: type) -> str | None:
    # A generated `__init__` still knows the module that it was made for.
    spaces = (getattr(member, "__globals__", None) or {} for member in vars(cls).values())
    own = (it for it in spaces if it.get("__name__") == cls.__module__)
    return next((it["__file__"] for it in own if "__file__" in it), None)


def definition(cls: type, file: str) -> Place:
    """The line of a file that defines a class; the first one if none does."""
    pattern = re.compile(rf"\s*class\s+{re.escape(cls.__name__)}\b")
    for number, line in enumerate(linecache.getlines(file), start=1):
        if pattern.match(line):
            return Place(file, number, 1, cls.__qualname__)
    return Place(file, 1, 1, cls.__qualname__)


def body_place(unflatten: Any) -> Place | None:
    """The first statement of the function that puts an instance together."""
    code = getattr(getattr(unflatten, "__func__", unflatten), "__code__", None)
    if code is None:
        return None
    lines = {line for _, _, line in code.co_lines() if line and line > code.co_firstlineno}
    line = min(lines, default=code.co_firstlineno)
    return Place(code.co_filename, line, 1, code.co_qualname)
