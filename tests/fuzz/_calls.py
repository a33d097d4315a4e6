"""Calls of the command, and what has to hold of each whatever it was given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

import verax
from verax.audit.plain import plain

_SOURCE = str(Path(verax.__file__).parents[1])
_SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "report-schema.json").read_text(encoding="utf-8")
)
_COMMANDS = ("::error ", "::warning ", "::notice ", "::error::", "::notice::")
# An audit of what is made here takes seconds; one that takes as long as this never ends.
_TIMEOUT = 300


def call(
    arguments: Sequence[str], folder: Path, codes: Sequence[int], stdin: bytes = b""
) -> tuple[int, str]:
    """What `verax` gives in a folder, checked; fails if its exit code is none of these."""
    shown = " ".join(map(repr, arguments))
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "verax", *arguments],
            cwd=folder,
            input=stdin,
            capture_output=True,
            timeout=_TIMEOUT,
            env=os.environ | {"PYTHONPATH": _SOURCE},
        )
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{shown}: no end after {_TIMEOUT} s") from None
    out, err = (_text(shown, it) for it in (done.stdout, done.stderr))
    assert "Traceback" not in err, f"{shown}: {err}"
    assert done.returncode in codes, f"{shown}: exit code {done.returncode}: {err}"
    named = arguments[arguments.index("--format") + 1] if "--format" in arguments else "text"
    check_log(shown, err)
    check_log(shown, out, commands=named == "github")
    is_report = not out.startswith("usage: ") and not {"-o", "--write-baseline"} & {*arguments}
    if named in ("json", "sarif") and done.returncode in (0, 1) and is_report:
        check_json(shown, out, named)
    return done.returncode, out


def _text(shown: str, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AssertionError(f"{shown}: not UTF-8: {error}") from None


def check_log(shown: str, text: str, commands: bool = False) -> None:
    """Nothing in it acts on a terminal, nor on what reads a job's log."""
    for line in text.split("\n"):
        assert line == plain(line), f"{shown}: {line!r} has control characters"
        is_command = line.lstrip().startswith("::")
        assert not is_command or (commands and line.startswith(_COMMANDS)), f"{shown}: {line!r}"
        assert is_command or ("##[" not in line and "##vso[" not in line), f"{shown}: {line!r}"


def check_json(shown: str, text: str, format: str) -> Any:
    """It is JSON, all its texts are Unicode, and a report follows its schema."""
    try:
        data = json.loads(text)
        json.dumps(data, ensure_ascii=False).encode("utf-8")
    except ValueError as error:
        raise AssertionError(f"{shown}: {error}") from None
    if format == "json":
        problem = next(Draft202012Validator(_SCHEMA).iter_errors(data), None)
        assert problem is None, f"{shown}: {problem}"
    else:
        assert isinstance(data["runs"][0]["invocations"][0]["executionSuccessful"], bool), shown
    return data
