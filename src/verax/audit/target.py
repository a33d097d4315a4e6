"""What to audit, as it is written on the command line."""

from __future__ import annotations

import ast
import os
from dataclasses import dataclass
from pathlib import Path

from .errors import UsageError
from .files import is_readable_pipe, read_bytes
from .source.locate import module_path

FORMS = "file.py:function or package.module:function"
STDIN = "-"


@dataclass(frozen=True)
class FunctionTarget:
    """A function, to be imported and traced: `attribute` of a file or of a module."""

    text: str
    attribute: str
    file: str | None = None
    module: str | None = None

    @property
    def home(self) -> str:
        """The file or module, as it was written."""
        return self.file or self.module or ""


@dataclass(frozen=True)
class SourceTarget:
    """A file, a folder or (as `-`) standard input, to be read without being imported."""

    text: str
    path: Path


Target = FunctionTarget | SourceTarget


def to_read(path: str) -> SourceTarget:
    """A path as a target that is only ever read: a file may be called `a.py:f.py`."""
    return SourceTarget(path, Path(path))


def parse_target(text: str) -> Target:
    """The target that this text means.

    Raises:
        UsageError: It is none, or the file is not there.
    """
    home, colon, attribute = text.rpartition(":")
    # `C:\work` has a colon, too.
    if not colon or "/" in attribute or os.sep in attribute:
        return _source(text)
    if home.endswith(":"):
        raise UsageError(f"target {text!r}: write one colon, {home.rstrip(':')}:{attribute}")
    if not attribute:
        raise UsageError(f"target {text!r}: name a function after the colon{_suggestion(home)}")
    if not all(part.isidentifier() for part in attribute.split(".")):
        raise UsageError(
            f"target {text!r}: {attribute!r} is not the name of a function, like step or Model.step"
        )
    if not home:
        raise UsageError(f"target {text!r}: name a file or module before the colon, as in {FORMS}")
    if _is_file_name(home):
        return _in_file(text, home, attribute)
    if all(part.isidentifier() for part in home.split(".")):
        return FunctionTarget(text, attribute, module=home)
    raise UsageError(f"target {text!r}: {home!r} is neither a file nor a module; write {FORMS}")


def home_of(target: FunctionTarget) -> str | None:
    """The file of a function, as the trace engine names it."""
    found = target.file if target.file is not None else module_path(target.module or "")
    if found is not None and os.path.isdir(found):
        found = os.path.join(found, "__init__.py")
    return None if found is None or not os.path.exists(found) else os.path.realpath(found)


def _is_file_name(home: str) -> bool:
    return home.endswith((".py", ".ipynb")) or "/" in home or os.sep in home or os.path.exists(home)


def _in_file(text: str, home: str, attribute: str) -> FunctionTarget:
    if os.path.isdir(home):
        raise UsageError(f"target {text!r}: {home} is a folder; name a file, as in {FORMS}")
    if not os.path.exists(home):
        raise UsageError(f"target {text!r}: there is no file {home}")
    if not os.path.isfile(home):
        raise UsageError(f"target {text!r}: {home} is no ordinary file")
    if Path(home).suffix != ".py":
        raise UsageError(f"target {text!r}: {home} is not a Python file")
    return FunctionTarget(text, attribute, file=home)


def _source(text: str) -> SourceTarget:
    path = Path(text)
    if text == STDIN:
        return SourceTarget(text, path)
    # These say no where `Path` raises: a name that is too long, or has a NUL.
    if text and os.path.exists(text):
        if os.path.isfile(text):
            if path.suffix not in (".py", ".ipynb") and not _is_python(text):
                raise UsageError(f"target {text!r}: is neither a Python file nor a notebook")
        elif not os.path.isdir(text) and not is_readable_pipe(text):
            raise UsageError(f"target {text!r}: is neither a file nor a folder")
        return SourceTarget(text, path)
    if text.endswith((".py", ".ipynb")) or "/" in text or os.sep in text:
        raise UsageError(f"target {text!r}: there is no such file or folder")
    if text and all(part.isidentifier() for part in text.split(".")):
        found = module_path(text)
        if found is not None:
            return SourceTarget(text, Path(found))
        raise UsageError(f"target {text!r}: there is no such file or folder, and no such module")
    raise UsageError(f"target {text!r}: write a file, a folder, {FORMS}")


def _is_python(path: str) -> bool:
    """Whether a file that is not called one is a program, as scripts are."""
    try:
        ast.parse(read_bytes(path))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _suggestion(home: str) -> str:
    """`: train.py:step`, with the first public function of the file, or nothing."""
    try:
        tree = ast.parse(read_bytes(home))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    functions = [it.name for it in tree.body if isinstance(it, ast.FunctionDef)]
    public = [name for name in functions if not name.startswith("_")]
    return f": {home}:{public[0]}" if public else ""
