"""From a file to its text and its syntax tree, with a reason where there is none."""

from __future__ import annotations

import ast
import codecs
import hashlib
import io
import os
import stat
import sys
import tokenize
import warnings
from dataclasses import dataclass

from .. import files
from ..finding import Place
from ..report import Unread
from . import notebook
from .normal import normalise

# Python files beyond this are data; tables that somebody generated.
DEFAULT_MAX_BYTES = 2_000_000
# Outputs of a notebook, which are not read, may be much larger than its code.
_NOTEBOOK_FACTOR = 32

_UTF_16_AND_32 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE)


@dataclass(frozen=True)
class Problem:
    """Why a file, or a cell of a notebook, cannot be read. Line 0 stands for all of it."""

    path: str
    line: int
    reason: str
    cell: int = 0

    @property
    def unread(self) -> Unread:
        """The problem as a report tells it."""
        return Unread(Place(self.path, self.line, cell=self.cell), self.reason)

    def __str__(self) -> str:
        return str(self.unread)


class UnreadableError(Exception):
    """Raised by `read`: `problem` says why, `digest` identifies what was, or was not, there."""

    def __init__(self, problem: Problem, digest: str = ""):
        self.problem = problem
        self.digest = digest
        super().__init__(problem)

    def __str__(self) -> str:
        return str(self.problem)


@dataclass(frozen=True)
class SourceText:
    """A module's text. A notebook is one module, of all its cells of code.

    `cells` has, for each line of a notebook's text, its cell and its line there, from one;
    `problems` are the cells that are left out. `digest` identifies the bytes that were read.
    """

    path: str
    text: str
    cells: tuple[tuple[int, int], ...] = ()
    problems: tuple[Problem, ...] = ()
    digest: str = ""

    def position(self, line: int) -> tuple[int, int]:
        """The cell (0 outside of notebooks) and the line in it that a line of the text is."""
        if not self.cells:
            return 0, line
        return self.cells[min(max(line, 1), len(self.cells)) - 1]


def read(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> SourceText:
    """The text of a Python file or of a notebook.

    Raises:
        UnreadableError: There is none.
    """
    limit = limit_of(path, max_bytes)
    try:
        data = files.read_bytes(path, limit)
    except files.LimitError as error:
        raise UnreadableError(_too_large(path, error), digest_of_file(path)) from None
    except OSError as error:
        raise UnreadableError(Problem(path, 0, _reason(error)), digest_of_file(path)) from None
    return read_bytes(data, path)


def read_given(data: bytes, path: str, max_bytes: int) -> SourceText:
    """The same of bytes that are there already, from standard input.

    Raises:
        UnreadableError: They hold none, or are too many.
    """
    if len(data) > max_bytes:
        raise UnreadableError(_too_large(path, files.LimitError.of(max_bytes)), digest_of(data))
    return read_bytes(data, path)


def limit_of(path: str, max_bytes: int = DEFAULT_MAX_BYTES) -> int:
    """The most bytes that are read of a file with a name, if Python files may have `max_bytes`."""
    return max_bytes * _NOTEBOOK_FACTOR if path.endswith(".ipynb") else max_bytes


def _too_large(path: str, error: files.LimitError) -> Problem:
    return Problem(path, 0, f"{error.strerror}; max-file-size can allow more")


def read_bytes(data: bytes, path: str) -> SourceText:
    """The text that bytes hold, which came from `path`.

    Raises:
        UnreadableError: They hold none.
    """
    digest = digest_of(data)
    try:
        if path.endswith(".ipynb"):
            return _read_notebook(data, path, digest)
        return SourceText(path, _decoded(data, path), digest=digest)
    except UnreadableError as error:
        error.digest = digest
        raise


def digest_of(data: bytes) -> str:
    """What identifies the content of a file."""
    digest = _hash()
    digest.update(data)
    return digest.hexdigest()


def _hash() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def digest_of_file(path: str) -> str:
    """The same for a file, whatever it holds; of one that cannot be read, what keeps it from that.

    A pipe is not opened, which could take for ever.
    """
    try:
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            return _digest_of_failure("no file")
        with open(path, "rb") as file:
            return hashlib.file_digest(file, _hash).hexdigest()
    except (OSError, ValueError) as error:
        return _digest_of_failure(_reason(error))


def _digest_of_failure(reason: str) -> str:
    return f"!{reason}"


def is_of_content(digest: str) -> bool:
    """Whether a digest is that of a file which could be read."""
    return not digest.startswith("!")


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def parse(source: SourceText) -> ast.Module | Problem:
    """The syntax tree, or why there is none."""
    tree = _tree(source.text, source.path, in_notebook=bool(source.cells))
    if isinstance(tree, Problem):
        cell, line = source.position(tree.line)
        return Problem(tree.path, line, tree.reason, cell)
    return normalise(tree, source.text)


def _tree(text: str | bytes, path: str, in_notebook: bool) -> ast.Module | Problem:
    flags = ast.PyCF_ONLY_AST
    if in_notebook:
        flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with warnings.catch_warnings():
            # What Python thinks of the file's escapes is not for our reader.
            warnings.simplefilter("ignore")
            return compile(text, path, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        return Problem(path, error.lineno or 1, f"{error.msg} (as {version})")
    except (RecursionError, MemoryError):
        return Problem(path, 1, "it is nested too deeply for Python's own parser")
    except (ValueError, OverflowError) as error:
        return Problem(path, 1, str(error))


def _decoded(data: bytes, path: str) -> str:
    """The text of a Python file, by its declaration of an encoding (PEP 263)."""
    if data.startswith(_UTF_16_AND_32):
        raise UnreadableError(Problem(path, 1, "it is UTF-16 or UTF-32, which Python does not run"))
    if b"\0" in data:
        line = data[: data.index(b"\0")].count(b"\n") + 1
        raise UnreadableError(Problem(path, line, "it has a NUL byte"))
    encoding = _encoding(data, path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        # Python imports a file with such bytes if they are only in comments.
        if isinstance(_tree(data, path, in_notebook=False), Problem):
            line = data[: error.start].count(b"\n") + 1
            reason = f"{error.reason} in {encoding}"
            raise UnreadableError(Problem(path, line, reason)) from None
        text = data.decode(encoding, "replace")
    except (LookupError, ValueError) as error:  # a codec that is not for text
        raise UnreadableError(Problem(path, 1, str(error))) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _encoding(data: bytes, path: str) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        if "missing encoding declaration" in str(error.msg):
            return "utf-8"  # which will say where the bytes are that are none
        raise UnreadableError(Problem(path, 1, str(error.msg))) from None


def _read_notebook(data: bytes, path: str, digest: str) -> SourceText:
    try:
        cells = notebook.code_cells(data)
    except notebook.NotebookError as error:
        raise UnreadableError(Problem(path, 0, str(error))) from None
    lines: list[str] = []
    positions: list[tuple[int, int]] = []
    problems: list[Problem] = []
    for cell in cells:
        text, problem = _python_of(cell, path)
        if problem is not None:
            problems.append(problem)
        for number, line in enumerate(text.split("\n"), 1):
            lines.append(line)
            positions.append((cell.number, number))
    # A notebook without code is still a notebook.
    return SourceText(
        path, "\n".join(lines) + "\n", tuple(positions) or ((1, 1),), tuple(problems), digest
    )


def _python_of(cell: notebook.Cell, path: str) -> tuple[str, Problem | None]:
    """A cell as Python: as it stands, else without its magics, else not at all."""
    if not isinstance(_tree(cell.text, path, True), Problem):
        return cell.text, None
    text = notebook.without_magics(cell.text)
    tree = _tree(text, path, True)
    if not isinstance(tree, Problem):
        return text, None
    nothing = "\n" * cell.text.count("\n")
    return nothing, Problem(path, tree.line, tree.reason, cell.number)
