"""Folders, names, settings and calls of somebody who means harm: one line, or a report.

A folder is filled with files, links, pipes and sockets under odd names, with settings of wrong
types and odd texts; then something in it is audited, in some format and with some options.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import tempfile
from pathlib import Path

from verax.audit.settings import FORMATS

from ._calls import call, check_json, check_log

_NAMES = (
    "a.py", "b.ipynb", "pkg", "__init__.py", "jax.py", "ast.py", "json.py", "types.py", "-",
    "--help",
    "x\n::stop-commands::y\n.py", "\x1b[2J.py", "\u202egnp.py", "##[error]x.py", "::error::z.py",
    "##vso[task.complete]v.py", "a\rb.py", "a\u2028b.py", "%0A::warning::.py", "a:b.py", "a,b.py",
    " .py", "'\".py", "[bold]x.py", "`x`.py", "<b>.py", "|.py", "a" * 240 + ".py", "ü.py", ".py",
    os.fsdecode(b"\xff\xfe.py"), os.fsdecode(b"\xed\xa0\x80.py"), "*.py", "!a.py", "#.py", "x:step",
)  # fmt: skip
_TEXTS = (
    b"", b"import jax\n", b"def f(:\n", b"\0", b"\xff", b"import pipe, a, json, ast\nimport jax\n",
    b"{", b"[]", b'{"cells": []}', b'{"cells": [{"cell_type": "code", "source": "def f(:"}]}',
    b"from jax.random import normal\ndef f(key):\n    return normal(key) + normal(key)\n",
    b"# verax: ignore[\x1b[2J]\nimport jax\n", b"[" * 20_000, b"*\n", b"!*\n[z-a]\n***/**\n",
)  # fmt: skip
_VALUES = (
    "1", "-1", "0", "true", "1.5", "nan", "[]", "[1]", "[[[]]]", "{}", "{a = {b = 1}}", "''",
    "'\\u001b'", '"\\u001b[2J"', '"\\n::error::x"', "9" * 4000, f"{10**30}", "1979-05-27",
    "'/dev/zero'",
    "'pipe'", "'.'", "'a.py'", "['*']", "['AX']", "'github'", "'never'", "['" + "*a" * 30 + "']",
    "[" * 200 + "]" * 200,
)  # fmt: skip
_KEYS = (
    "select ignore preview fail-on format exclude baseline max-file-size allow-unread x.y ''"
).split()


def run(rng: random.Random) -> str | None:
    """Fill a folder, and audit something in it."""
    with tempfile.TemporaryDirectory() as temporary, contextlib.ExitStack() as stack:
        folder = Path(temporary, "tree")
        folder.mkdir()
        made = _filled(folder, rng, stack)
        if rng.random() < 0.5:
            (folder / "pyproject.toml").write_text(_settings(rng), encoding="utf-8")
        before = _programs(folder)
        arguments = _call(made, rng)
        call(arguments, folder, (0, 1, 2), rng.choice(_TEXTS))
        changed = [name for name, text in before.items() if _programs(folder).get(name) != text]
        assert not changed, f"{arguments!r} has changed {changed!r}"
        _check_output(arguments, folder)
    return None


def _filled(folder: Path, rng: random.Random, stack: contextlib.ExitStack) -> list[str]:
    """The names of what is there, relative to the folder."""
    made: list[str] = []
    inside = [""]
    for _ in range(rng.randint(1, 6)):
        name = os.path.join(rng.choice(inside), rng.choice(_NAMES))
        path = folder / name
        # What has this name already stays, and so does a name that this system does not take.
        with contextlib.suppress(OSError, ValueError):
            kind = rng.choice(("file", "file", "file", "folder", "pipe", "link", "socket"))
            if kind == "file":
                with path.open("xb") as stream:
                    stream.write(rng.choice(_TEXTS))
            elif kind == "folder":
                path.mkdir()
                inside.append(name)
            elif kind == "pipe":
                os.mkfifo(path)
            elif kind == "link":
                path.symlink_to(rng.choice((".", "..", "a.py", "nowhere", "/dev/zero", path.name)))
            else:
                stack.enter_context(socket.socket(socket.AF_UNIX)).bind(str(path))
            made.append(name)
    return made


def _settings(rng: random.Random) -> str:
    chosen = rng.sample(_KEYS, rng.randint(0, 3))
    lines = [f"{key} = {rng.choice(_VALUES)}" for key in chosen]
    return "\n".join([rng.choice(("[tool.verax]", "[tool.verax]", "[[tool.verax]]")), *lines])


def _call(made: list[str], rng: random.Random) -> list[str]:
    targets = [rng.choice((".", *made)) for _ in range(rng.randint(1, 2))]
    suffix = rng.choice(("", "", "", "", ":step", ":", "::f", "/x", "\n::error::x"))
    options = ["--format", rng.choice(FORMATS), "--no-cache"]
    options += ["--jobs", rng.choice("12")]
    options += rng.choice(
        ([], [], ["--allow-unread"], ["--fail-on", "never"], ["--exclude", rng.choice(_NAMES)])
    )
    file = rng.choice((*made, *_NAMES, "out"))
    options += rng.choice(([], [], ["-o", file], ["--write-baseline", file], ["--baseline", file]))
    return [
        "audit",
        *options,
        *([] if rng.random() < 0.2 else ["--"]),
        *targets[:-1],
        targets[-1] + suffix,
    ]


def _programs(folder: Path) -> dict[str, bytes]:
    """All files that no output may replace, with their content."""
    return {
        os.path.relpath(path, folder): path.read_bytes()
        for path in folder.rglob("*")
        if path.suffix in (".py", ".ipynb") and path.is_file() and not path.is_symlink()
    }


def _check_output(arguments: list[str], folder: Path) -> None:
    """What was written to a file holds as much as what is written to stdout."""
    if "-o" not in arguments:
        return
    file = folder / arguments[arguments.index("-o") + 1]
    format = arguments[arguments.index("--format") + 1]
    if not file.is_file() or file.is_symlink() or file.suffix in (".py", ".ipynb"):
        return
    text = file.read_bytes()
    if text in _TEXTS:
        return  # it was refused
    shown = f"{arguments!r}, in the file"
    check_log(shown, text.decode("utf-8"), commands=format == "github")
    if format in ("json", "sarif"):
        check_json(shown, json.dumps(json.loads(text)), format)
