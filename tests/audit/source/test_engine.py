"""`verax audit` of files and folders, as users meet it, with a planted analysis."""

import io
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import verax
from verax.audit import Report
from verax.audit.source.engine import Options, audit_paths
from verax.cli import main

from ..reports import check_schema
from ..sample import ISSUE


def audit(capsys, *arguments: str, code: int = 0) -> dict:
    """The report of a call as JSON."""
    assert main(["audit", "--format", "json", *arguments]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return check_schema(out)


def places(data: dict) -> list[str]:
    return [f"{it['file']}:{it['line']} {it['code']}" for it in data["issues"]]


def test_a_folder(planted: Path, capsys):
    (planted / "src").mkdir()
    (planted / "src" / "b.py").write_text("x = 1\ny = 2  # BUG AX001\n")
    (planted / "src" / "a.py").write_text("x = 1  # BUG RK001\nz = 1  # SMELL AX001\n")
    data = audit(capsys, "src", code=1)
    assert data["target"] == "src"
    assert places(data) == ["src/a.py:1 RK001", "src/b.py:2 AX001"]
    assert [it["line"] for it in data["warnings"]] == [2]
    assert {it["engine"] for it in data["issues"]} == {"source"}
    assert data["notes"] == []


def test_a_clean_file_and_an_empty_folder(planted: Path, capsys):
    (planted / "a.py").write_text("x = 1\n")
    (planted / "empty").mkdir()
    assert audit(capsys, "a.py")["issues"] == []
    note = "empty: there is no Python file and no notebook to audit"
    assert audit(capsys, "empty")["notes"] == [note]


def test_what_two_files_tell_of_a_third_is_said_once(planted: Path, capsys):
    (planted / "a.py").write_text("import helper\n")
    (planted / "b.py").write_text("import helper\n")
    (planted / "helper.py").write_text("x = 1  # BUG AX001\n")
    assert places(audit(capsys, "a.py", "b.py", code=1)) == ["helper.py:1 AX001"]
    assert places(audit(capsys, ".", code=1)) == ["helper.py:1 AX001"]
    (planted / "helper.py").write_text("x = 1  # BUG AX001  # verax: ignore[AX001] fine\n")
    assert audit(capsys, "a.py")["notes"] == ["1 finding suppressed by `# verax: ignore`"]


def test_what_cannot_be_read_is_noted_and_the_rest_is_audited(planted: Path, capsys):
    (planted / "good.py").write_text("x = 1  # BUG AX001\n")
    (planted / "syntax.py").write_text("x = 1\ndef f(:\n")
    (planted / "bytes.py").write_bytes(b"x = '\xff'\n")
    (planted / "crash.py").write_text("x = 'CRASH'\n")
    (planted / "bad.ipynb").write_text("{")
    (planted / "huge.py").write_text("x = 1\n" * 100)
    (planted / "pyproject.toml").write_text("[tool.verax]\nmax-file-size = 500\n")
    assert main(["audit", "--format", "json", "."]) == 3
    data = check_schema(capsys.readouterr().out)
    assert places(data) == ["good.py:1 AX001"]
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    assert data["notes"] == [
        "bad.ipynb: cannot be read: it is no JSON: Expecting property name enclosed in double "
        "quotes: line 1 column 2 (char 1)",
        "bytes.py:1: cannot be read: invalid start byte in utf-8",
        "crash.py: verax itself failed: RuntimeError: planted",
        "huge.py: cannot be read: it is larger than 500 bytes; max-file-size can allow more",
        f"syntax.py:2: cannot be read: invalid syntax (as {version})",
    ]


ALLOW = (
    "verax: error: not all was audited; leave it out by --exclude, or allow it: --allow-unread\n"
)
BROKEN = "x = 1\ndef f(:\n"
VERSION = f"Python {sys.version_info.major}.{sys.version_info.minor}"


def test_a_named_file_that_cannot_be_read_is_an_error(planted: Path, capsys):
    (planted / "good.py").write_text("x = 1  # BUG AX001\n")
    (planted / "src").mkdir()
    (planted / "src" / "syntax.py").write_text(BROKEN)
    reason = f"src/syntax.py:2: cannot be read: invalid syntax (as {VERSION})"
    for _ in range(2):  # the second time from the cache
        assert main(["audit", "--format", "concise", "src/syntax.py", "good.py"]) == 2
        out, err = capsys.readouterr()
        assert err == f"verax: error: {reason}\n{ALLOW}"
        assert out.splitlines()[0].startswith("good.py:1:")
        assert f"note: {reason}" in out.splitlines()
    assert main(["audit", "src", "good.py", "--ignore", "AX", "--allow-unread"]) == 0
    assert capsys.readouterr().err == ""


def test_standard_input_that_cannot_be_read(planted: Path, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(BROKEN.encode())))
    assert main(["audit", "-", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    reason = f"<stdin>:2: cannot be read: invalid syntax (as {VERSION})"
    assert err == f"verax: error: {reason}\n{ALLOW}"
    (unread,) = check_schema(out)["unread"]
    assert (unread["place"]["file"], unread["place"]["line"]) == ("<stdin>", 2)


def test_a_notebook_is_read_without_the_cells_that_are_no_python(planted: Path, capsys):
    cells = [{"cell_type": "code", "source": text} for text in ("def f(:", "x = 1")]
    (planted / "n.ipynb").write_text(json.dumps({"cells": cells}))
    assert len(audit(capsys, "n.ipynb")["notes"]) == 1


def test_standard_input(planted: Path, capsys, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(b"x = 1\ny = 2  # BUG AX001\nz = 3  # BUG RK001"))
    monkeypatch.setattr("sys.stdin", text)
    data = audit(capsys, "-", "--ignore", "RK", code=1)
    assert (data["target"], places(data)) == ("-", ["<stdin>:2 AX001"])


def test_what_a_shell_connects(planted: Path):
    """A pipe can be read once, by one process; it is never kept."""
    (planted / "a.py").write_text("x = 1\n")
    command = f"{sys.executable} -m verax audit --jobs 2 --format json a.py <(cat) a.py"
    for text, code in (("x = 1\n", 0), ("def f(:\n", 2), ("x = 1\n", 0)):
        done = subprocess.run(
            ["bash", "-c", f"exec 3<&0; {command.replace('cat', 'cat <&3')}"],
            input=text,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(verax.__file__).parents[1])},
        )
        assert done.returncode == code
        assert len(check_schema(done.stdout)["unread"]) == code // 2
        assert len(done.stderr.splitlines()) == code


def test_standard_input_may_answer_itself(planted: Path, capsys, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO(b"x = 1  # BUG AX001  # verax: ignore[AX001] fine"))
    monkeypatch.setattr("sys.stdin", text)
    assert audit(capsys, "-")["issues"] == []


def test_a_module_is_read_and_not_imported(planted: Path, capsys):
    (planted / "pkg").mkdir()
    (planted / "pkg" / "__init__.py").write_text("raise SystemExit  # BUG AX001\n")
    (planted / "pkg" / "part.py").write_text("raise SystemExit  # BUG RK001\n")
    assert places(audit(capsys, "pkg.part", code=1)) == ["pkg/part.py:1 RK001"]


def test_notebooks_show_cells(planted: Path, capsys):
    cells = [
        {"cell_type": "markdown", "source": "words"},
        {"cell_type": "code", "source": "%pip install jax\nx = 1"},
        {"cell_type": "code", "source": "y = 1\nz = 2  # BUG AX001"},
        {"cell_type": "code", "source": "def f(:"},
        {"cell_type": "code", "source": "z = 2  # BUG AX001  # verax: ignore[AX001] fine"},
        {"cell_type": "code", "source": "z = 3  # verax: ignore[AX001] useless"},
    ]
    (planted / "n.ipynb").write_text(json.dumps({"cells": cells}))
    data = audit(capsys, "n.ipynb", code=1)
    (issue,) = data["issues"]
    assert (issue["file"], issue["cell"], issue["line"]) == ("n.ipynb", 3, 2)
    assert data["notes"][0].startswith("n.ipynb:cell 4:1: cannot be read: invalid syntax")
    assert data["notes"][1:] == [
        "n.ipynb:cell 6:1: `# verax: ignore[AX001]` answers no finding",
        "1 finding suppressed by `# verax: ignore`",
    ]
    formats = {"text": "n.ipynb:cell 3:2:1", "markdown": "`n.ipynb:cell 3:2:1`"}
    formats |= {"concise": "n.ipynb:cell 3:2:1: AX001 "}
    formats |= {"html": "n.ipynb:cell 3:2:1", "github": "(cell 3)", "sarif": '"cell 3"'}
    for format, shown in formats.items():
        main(["audit", "n.ipynb", "--format", format])
        assert shown in capsys.readouterr().out


NOT_SHOWN = "not shown for folders: audit one file, or add --flow"


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("a.py", True),
        ("a.py b.py", True),
        (".", False),
        (". --format markdown", False),
        (". --flow", True),
        (". --depth 3", True),
        (". --format json", True),
    ],
)
def test_how_data_flows_is_shown_for_files(elsewhere: Path, capsys, call: str, shown: bool, jobs):
    (elsewhere / "a.py").write_text("x = 1\n")
    (elsewhere / "b.py").write_text("x = 1\n")
    for _ in ("cold", "warm"):
        assert main(["audit", "--jobs", jobs, *call.split()]) == 0
        out = capsys.readouterr().out
        assert ("entry of a.py" in out, NOT_SHOWN in out) == (shown, not shown)


def test_lists_of_findings_have_no_data_flow_and_do_not_say_so(planted: Path, capsys):
    (planted / "a.py").write_text("x = 1\n")
    main(["audit", ".", "--format", "sarif"])
    assert "how data flows" not in capsys.readouterr().out


def test_both_engines_on_a_function(planted: Path, capsys, monkeypatch):
    (planted / "train.py").write_text("def step(x):\n    return x  # BUG AX001  # BUG RK001\n")
    place = replace(ISSUE.place, file=str(planted / "train.py"), line=2)
    report = Report("train.py:step", issues=(replace(ISSUE, place=place),))
    monkeypatch.setattr("verax.audit.command.audit_in_child", lambda *_: report)
    data = audit(capsys, "train.py:step", code=1)
    assert data["target"] == "train.py:step"
    engines = {it["code"]: it["engine"] for it in data["issues"]}
    assert engines == {"AX001": "trace", "RK001": "source"}
    assert len(data["issues"]) == 2
    (planted / "train.py").write_text(
        "def step(x):\n    return x  # BUG AX001  # BUG RK001  # verax: ignore[AX001, RK001]\n"
    )
    assert audit(capsys, "train.py:step")["issues"] == []


def test_exclude(planted: Path, capsys):
    for name in ("a.py", "b.py", "c.py"):
        (planted / name).write_text("x = 1  # BUG AX001\n")
    (planted / "pyproject.toml").write_text("[tool.verax]\nexclude = ['/a.py']\n")
    assert places(audit(capsys, ".", "--exclude", "b*", code=1)) == ["c.py:1 AX001"]


@pytest.mark.parametrize(
    ("comment", "codes", "note"),
    [
        ("# verax: ignore-file[AX001] generated", ["RK001"], "2 findings suppressed"),
        ("# verax: ignore-file[axis, RK001] generated", [], "3 findings suppressed"),
        ("# verax: ignore-file", ["AX001", "AX001", "RK001"], "a.py:1: `# verax: ignore-file` nam"),
        ("# verax: ignore-file[AX9]", ["AX001", "AX001", "RK001"], "a.py:1: `# verax: ignore-file"),
        ("# verax: ignore-files[AX]", ["AX001", "AX001", "RK001"], None),
        ("# verax: ignore[AX]", ["AX001", "AX001", "RK001"], "a.py:1: `# verax: ignore[AX]` answ"),
        ("# verax: ignore[GR001] only traced", ["AX001", "AX001", "RK001"], None),
        ("'# verax: ignore-file[AX001]'", ["AX001", "AX001", "RK001"], None),
    ],
)
def test_comments(planted: Path, capsys, comment: str, codes: list[str], note: str | None):
    (planted / "a.py").write_text(
        f"{comment}\nx = 1 # BUG AX001\ny = 1 # BUG RK001\nz = 1 # BUG AX001"
    )
    data = audit(capsys, "a.py", code=int(bool(codes)))
    assert sorted(it["code"] for it in data["issues"]) == codes
    assert len(data["notes"]) == (note is not None)
    assert note is None or data["notes"][0].startswith(note)


def test_nothing_is_imported_and_nothing_is_written(planted: Path):
    (planted / "a.py").write_text("import sys\nopen('written', 'w')\nsys.exit(3)\n")
    program = (
        "import sys, verax.cli\n"
        "code = verax.cli.main(['audit', '.', '--jobs', '2', '--format', 'json'])\n"
        "print(code, {'jax', 'numpy', 'rich'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(Path(verax.__file__).parents[1]), "HOME": "/nonexistent"},
    )
    assert done.stderr == "0 set()\n"
    assert check_schema(done.stdout)["issues"] == []
    assert [path.name for path in planted.iterdir()] == ["a.py"]


def test_from_python(planted: Path):
    (planted / "a.py").write_text("x = 1  # BUG AX001\ny = 1  # BUG RK001 # verax: ignore[RK]\n")
    report = audit_paths(["a.py"], Options(cache=False))
    assert [finding.code for finding in report.issues] == ["AX001"]
    assert report.target == "a.py"
