"""Findings that were there before."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from verax.cli import main

BASELINE = "known.json"


def lines_found(capsys, *arguments: str) -> list[str]:
    """The lines with findings in a.py, and the notes."""
    main(["audit", "--format", "json", *(arguments or ("a.py", "--baseline", BASELINE))])
    data = json.loads(capsys.readouterr().out)
    return [f"{it['file']}:{it['line']}" for it in (*data["issues"], *data["warnings"])] + (
        data["notes"]
    )


def write_baseline(capsys, *arguments: str) -> None:
    assert main(["audit", *(arguments or ("a.py",)), "--write-baseline", BASELINE]) == 0
    capsys.readouterr()


def test_what_is_known_does_not_count(planted: Path, capsys):
    (planted / "a.py").write_text("x = 1  # BUG AX001\ny = 2  # SMELL AX001\n")
    assert main(["audit", "a.py", "--write-baseline", BASELINE]) == 0
    assert capsys.readouterr().out == "known.json: 2 findings\n"
    assert main(["audit", "a.py", "--baseline", BASELINE]) == 0
    assert "2 findings known in known.json" in capsys.readouterr().out
    (planted / "a.py").write_text("new = 3  # BUG AX001\n\nx =  1   # BUG AX001\n")
    assert main(["audit", "a.py", "--baseline", BASELINE]) == 1
    capsys.readouterr()
    assert lines_found(capsys) == [
        "a.py:1",
        "1 finding known in known.json",
        "known.json: 1 known finding is gone; write it anew with --write-baseline",
    ]


def test_another_code_in_a_known_line_is_new(planted: Path, capsys):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    write_baseline(capsys)
    (planted / "b.py").write_text("x = 1  # BUG AX001\n")
    assert lines_found(capsys, ".", "--baseline", BASELINE)[0] == "b.py:1"
    (planted / "a.py").write_text("x = 1  # BUG RK001\n")
    assert lines_found(capsys)[0] == "a.py:1"


def test_a_line_that_is_there_once_more_is_new_once(planted: Path, capsys):
    (planted / "a.py").write_text("x = 1  # BUG AX001\n" * 2)
    write_baseline(capsys)
    (planted / "a.py").write_text("x = 1  # BUG AX001\n" * 3)
    assert lines_found(capsys) == ["a.py:3", "2 findings known in known.json"]


def test_only_what_was_looked_for_can_be_gone(planted: Path, capsys):
    for name in ("a.py", "b.py", "c.py"):
        (planted / name).write_text("x = 1  # BUG AX001\ny = 1  # BUG RK001\n")
    write_baseline(capsys, ".")
    known = "2 findings known in known.json"
    assert lines_found(capsys) == [known]
    (planted / "a.py").write_text("x = 1  # BUG AX001\n")
    select = ("a.py", "--baseline", BASELINE, "--select", "AX")
    assert lines_found(capsys, *select) == ["1 finding known in known.json"]
    (planted / "c.py").unlink()
    gone = "known.json: 3 known findings are gone; write it anew with --write-baseline"
    assert lines_found(capsys) == ["1 finding known in known.json", gone]


def test_it_may_lie_elsewhere_and_be_set_once(planted: Path, capsys, monkeypatch):
    (planted / "src").mkdir()
    (planted / "ci").mkdir()
    (planted / "src" / "a.py").write_text("x = 1  # BUG AX001\n")
    assert main(["audit", "src", "--write-baseline", "ci/known.json"]) == 0
    (planted / "pyproject.toml").write_text("[tool.verax]\nbaseline = 'ci/known.json'\n")
    data = json.loads((planted / "ci" / "known.json").read_text())
    assert [it["file"] for it in data["findings"]] == ["../src/a.py"]
    assert main(["audit", "src"]) == 0
    monkeypatch.chdir(planted / "src")
    assert main(["audit", "a.py"]) == 0
    assert "1 finding known in ../ci/known.json" in capsys.readouterr().out


def test_notebooks(planted: Path, capsys):
    def write(*cells: str) -> None:
        code = [{"cell_type": "code", "source": cell} for cell in cells]
        (planted / "n.ipynb").write_text(json.dumps({"cells": code}))

    write("x = 1", "y = 1\nz = 1  # BUG AX001")
    write_baseline(capsys, "n.ipynb")
    write("x = 1", "w = 1  # BUG AX001", "y = 1\n\nz = 1  # BUG AX001")
    assert lines_found(capsys, "n.ipynb", "--baseline", BASELINE) == [
        "n.ipynb:1",
        "1 finding known in known.json",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "there is no such file; write one with --write-baseline known.json"),
        (b"{", "is no JSON; write it with --write-baseline"),
        (b"\xff", "is no JSON; write it with --write-baseline"),
        (b"[" * 100_000, "is no JSON; write it with --write-baseline"),
        (b"[]", "is no baseline of schema verax.baseline/1"),
        (b'{"schema": "verax.report/1"}', "is no baseline of schema verax.baseline/1"),
        (b'{"schema": "verax.baseline/1"}', "is damaged; write it with --write-baseline"),
        (b'{"schema": "verax.baseline/1", "findings": [3]}', "is damaged; write it with"),
        (b'{"schema": "verax.baseline/1", "findings": 3}', "is damaged; write it with"),
    ],
)
def test_what_is_no_baseline(planted: Path, capsys, content: bytes | None, message: str):
    (planted / "a.py").write_text("")
    if content is not None:
        (planted / BASELINE).write_bytes(content)
    assert main(["audit", "a.py", "--baseline", BASELINE]) == 2
    assert capsys.readouterr().err.startswith(f"verax: error: --baseline known.json: {message}")


def test_a_baseline_that_cannot_be_written(planted: Path, capsys):
    (planted / "a.py").write_text("")
    assert main(["audit", "a.py", "--write-baseline", "gone/known.json"]) == 2
    assert capsys.readouterr().err.startswith("verax: error: --write-baseline gone/known.json: c")


_LINES = st.lists(st.sampled_from(["x = 1  # BUG AX001", "y = 1  # BUG AX001", "z = 1", ""]))


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(before=_LINES, after=_LINES)
def test_new_is_what_there_is_more_of(planted: Path, capsys, before: list[str], after: list[str]):
    """However lines were moved: by counting, which knows no places."""
    (planted / "a.py").write_text("\n".join(before))
    write_baseline(capsys)
    (planted / "a.py").write_text("\n".join(after))
    new = [it for it in lines_found(capsys) if it.startswith("a.py:")]
    bugs = {line for line in after if "BUG" in line}
    assert len(new) == sum(max(0, after.count(bug) - before.count(bug)) for bug in bugs)
