"""From a file to its text and tree, or to the reason why there is none."""

import ast
import json
import sys
import tokenize
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.audit.source.reading import (
    Problem,
    SourceText,
    UnreadableError,
    parse,
    read,
    read_bytes,
)

from .mutations import mutated

VERSION = f"(as Python {sys.version_info.major}.{sys.version_info.minor})"


def problem_of(data: bytes, path: str = "/p/a.py") -> str:
    """Why these bytes cannot be read or parsed."""
    try:
        tree = parse(read_bytes(data, path))
    except UnreadableError as error:
        return str(error)
    assert isinstance(tree, Problem)
    return str(tree)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\r\ny = 2\rz = 3\n", "x = 1\ny = 2\nz = 3\n"),
        (b"\xef\xbb\xbfx = '\xc3\xa9'\n", "x = 'é'\n"),
        (b"# coding: latin-1\nx = '\xe9'\n", "# coding: latin-1\nx = 'é'\n"),
        (b"#!/usr/bin/python\n# -*- coding: cp1252 -*-\nx = '\x80'", None),
        (b"", ""),
        (b"\x0cx = 1", "\x0cx = 1"),
    ],
)
def test_encodings(tmp_path: Path, data: bytes, text: str | None):
    path = tmp_path / "a.py"
    path.write_bytes(data)
    source = read(str(path))
    with tokenize.open(path) as lines:  # as Python itself reads it
        assert source.text == lines.read()
    assert text is None or source.text == text
    assert isinstance(parse(source), ast.Module)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"x = 1\ny = '\xff'\n", "/p/a.py:2: cannot be read: invalid start byte in utf-8"),
        (b"x = 1\ny = '\0'\n", "/p/a.py:2: cannot be read: it has a NUL byte"),
        ("x = 1".encode("utf-16"), "/p/a.py:1: cannot be read: it is UTF-16 or UTF-32, which"),
        (b"# coding: klingon\n", "/p/a.py:1: cannot be read: unknown encoding: klingon"),
        (b"# coding: rot13\n", "/p/a.py:1: cannot be read: "),
        (b"x = 1\ndef f(:\n", f"/p/a.py:2: cannot be read: invalid syntax {VERSION}"),
        (b"if x:\n\ty\n        z\n", "/p/a.py:3: cannot be read: inconsistent use of tabs"),
        (b"(" * 100_000, "/p/a.py:1: cannot be read: too many nested parentheses"),
        (b"-" * 500_000 + b"1", "/p/a.py:1: cannot be read: it is nested too deeply"),
        (b"x = 1" + b" + 1" * 100_000, "/p/a.py:1: cannot be read: it is nested too deeply"),
        (b"x" + b".y" * 100_000, "/p/a.py:1: cannot be read: it is nested too deeply"),
        (b"x = " + b"9" * 10_000, "/p/a.py:1: cannot be read: Exceeds the limit"),
    ],
    ids=range(12),
)
def test_what_cannot_be_read(data: bytes, message: str):
    assert problem_of(data).startswith(message)


def test_bytes_that_only_a_comment_holds_are_no_harm():
    """As for Python's own import."""
    source = read_bytes(b"x = 1  # caf\xe9\ny = 2\n", "a.py")
    assert source.text == "x = 1  # caf\N{REPLACEMENT CHARACTER}\ny = 2\n"


def test_files_that_are_not_there(tmp_path: Path):
    with pytest.raises(UnreadableError, match=r"gone\.py: cannot be read: No such file"):
        read(str(tmp_path / "gone.py"))
    with pytest.raises(UnreadableError, match="cannot be read: Is a directory"):
        read(str(tmp_path))
    with pytest.raises(UnreadableError, match="null"):
        read("a\0b.py")


def test_files_that_are_too_large(tmp_path: Path):
    path = tmp_path / "data.py"
    path.write_text("x = 1\n" * 100)
    assert read(str(path), max_bytes=600).text.startswith("x")
    with pytest.raises(UnreadableError) as error:
        read(str(path), max_bytes=599)
    reason = "it is larger than 599 bytes; max-file-size can allow more"
    assert str(error.value) == f"{path}: cannot be read: {reason}"
    if Path("/dev/zero").exists():
        with pytest.raises(UnreadableError, match="no ordinary file"):
            read("/dev/zero")


def test_python_warns_nobody_about_the_files_escapes(recwarn):
    assert isinstance(parse(SourceText("a.py", "x = '\\d' is 1\n")), ast.Module)
    assert not recwarn.list


def test_the_digest_is_of_the_bytes():
    one, two = read_bytes(b"x = 1\n", "a.py"), read_bytes(b"x = 1\r\n", "a.py")
    assert one.text == two.text
    assert one.digest != two.digest


def notebook(*cells: str | list[str], **metadata: object) -> bytes:
    """A notebook with a cell of words before the first cell of code."""
    code = [{"cell_type": "code", "source": cell, "outputs": []} for cell in cells]
    words = {"cell_type": "markdown", "source": "# Title"}
    return json.dumps({"cells": [words, *code], "metadata": metadata, "nbformat": 4}).encode()


def test_a_notebook_is_one_module_of_its_code():
    source = read_bytes(notebook(["x = 1\n", "y = 2"], "", "z = x + y\n"), "a.ipynb")
    assert source.text == "x = 1\ny = 2\n\nz = x + y\n\n"
    assert source.cells == ((2, 1), (2, 2), (3, 1), (4, 1), (4, 2))
    assert [source.position(line) for line in (0, 1, 4, 99)] == [(2, 1), (2, 1), (4, 1), (4, 2)]
    assert source.problems == ()


def test_notebooks_of_the_older_form():
    cells = [{"cell_type": "code", "input": ["x = 1"]}, {"cell_type": "code", "input": "y = 2"}]
    data = json.dumps({"worksheets": [{"cells": cells}], "metadata": {}}).encode()
    assert read_bytes(data, "a.ipynb").text == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("cell", "python"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install jax\nx = 1", "pass\nx = 1"),
        ("if x:\n    %load_ext a\ny = 1", "if x:\n    pass\ny = 1"),
        ("f?\nx = 1", "pass\nx = 1"),
        ("?f\nx.y??", "pass\npass"),
        ("files = !ls\nn = %time 3", "files = get_ipython()\nn = get_ipython()"),
        ("%time y = f(x)", "pass ;y = f(x)"),
        ("  \n%%time\ny = f(x)", "  \n\ny = f(x)"),
        ("%%bash\nls -l\nrm x", "\n\n"),
        ("%%writefile a.py\nx = 1", "\n"),
        ("!a \\\n  b\nx = 1", "pass\n\nx = 1"),
        ("x = (7\n% 3)\n%pwd", "x = (7\n% 3)\npass"),
        ("x = '''\n%a\n!b'''\n!c", "x = '''\n%a\n!b'''\npass"),
        ("x = 7 \\\n % 3\n!c", "x = 7 \\\n % 3\npass"),
        ("x = '(' # (\n!c", "x = '(' # (\npass"),
        ("x = 5\nx %= 3\nx != 2", "x = 5\nx %= 3\nx != 2"),
        ("await f()", "await f()"),
    ],
)
def test_magics_give_way_to_python_in_their_lines(cell: str, python: str):
    source = read_bytes(notebook(cell), "a.ipynb")
    assert source.text == f"{python}\n"
    assert source.problems == ()
    assert isinstance(parse(source), ast.Module)


def test_a_broken_cell_is_left_out_and_named():
    source = read_bytes(notebook("x = 1", "y = 1\ndef f(:\n", "z = 1"), "/p/a.ipynb")
    assert source.text == "x = 1\n\n\n\nz = 1\n"
    assert source.position(5) == (4, 1)
    (problem,) = source.problems
    assert str(problem) == f"/p/a.ipynb:cell 3:2: cannot be read: invalid syntax {VERSION}"
    assert isinstance(parse(source), ast.Module)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"[]", "it is JSON, but no notebook"),
        (b"{}", "it is JSON, but no notebook: it has no cells"),
        (b'{"cells": 3}', "it is JSON, but no notebook: it has no cells"),
        (b'{"cells": "\xff"}', "it is no UTF-8: invalid start byte at byte 11"),
        (b"[" * 200_000, "its JSON is nested too deeply"),
        (notebook("x", language_info={"name": "R"}), "its cells are R, not Python"),
        (notebook("x", kernelspec={"language": "julia"}), "its cells are julia, not Python"),
    ],
    ids=range(8),
)
def test_what_is_no_notebook(data: bytes, message: str):
    assert problem_of(data, "/p/a.ipynb") == f"/p/a.ipynb: cannot be read: {message}"


@pytest.mark.parametrize(
    "cells", [[], [3], [None, {"cell_type": "code"}], [{"cell_type": "code", "source": 3}]]
)
def test_strange_cells_hold_no_code(cells: list[object]):
    source = read_bytes(json.dumps({"cells": cells}).encode(), "a.ipynb")
    assert source.text.strip() == ""
    assert isinstance(parse(source), ast.Module)


@settings(max_examples=150, suppress_health_check=list(HealthCheck), deadline=5000)
@given(data=mutated())
def test_mutated_files_are_read_or_refused_as_by_python(data: bytes):
    try:
        tree = parse(read_bytes(data, "a.py"))
    except UnreadableError:
        tree = None
    try:
        compile(data, "a.py", "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        assert not isinstance(tree, ast.Module)
    else:
        assert isinstance(tree, ast.Module)


@settings(max_examples=80, suppress_health_check=list(HealthCheck), deadline=5000)
@given(data=mutated(), kind=st.sampled_from(["cell", "file"]))
def test_mutated_notebooks_keep_their_lines(data: bytes, kind: str):
    text = data.decode("latin-1")
    if kind == "file":
        content = bytearray(notebook(text))
        content[len(content) // 2 : len(content) // 2 + 2] = data[:2]
        try:
            source = read_bytes(bytes(content), "a.ipynb")
        except UnreadableError:
            return
    else:
        source = read_bytes(notebook("x = 1", text, "y = 2"), "a.ipynb")
        lines = text.replace("\r\n", "\n").replace("\r", "\n").count("\n") + 1
        assert source.text.count("\n") == len(source.cells) == lines + 2
    assert isinstance(parse(source), ast.Module)
