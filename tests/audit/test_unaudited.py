"""What could not be audited is seen in every format, on stderr, and by the exit code."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from verax.audit.errors import OwnError
from verax.audit.rules import registry
from verax.audit.source import one_file
from verax.audit.source.analyse import analyse
from verax.cli import main

from .reports import check_schema
from .sample import example_rule

BROKEN, CRASH, FINE = "x = 1\ndef f(:\n", "x = 'CRASH'\n", "import jax\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)

    def failing(path: str, *rest: Any):
        if "CRASH" in Path(path).read_text():
            raise RuntimeError("planted\n::error::more")
        return analyse(path, *rest)

    monkeypatch.setattr(one_file, "analyse", failing)
    return tmp_path


def audited(capsys, *options: str, format: str) -> tuple[int, str, str]:
    code = main(["audit", ".", "--no-cache", "--jobs", "1", "--format", format, *options])
    return code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        (FINE, [], 0),
        (BROKEN, [], 2),
        (BROKEN, ["--fail-on", "never"], 2),
        (BROKEN, ["--allow-unread"], 0),
        (CRASH, [], 3),
        (CRASH, ["--fail-on", "never", "--allow-unread"], 3),
        (BROKEN, ["--write-baseline", "known.json"], 2),
        (CRASH, ["--write-baseline", "known.json"], 3),
    ],
)
def test_the_exit_code(project: Path, capsys, text: str, options: list[str], code: int):
    (project / "a.py").write_text(text)
    found, _, err = audited(capsys, *options, format="concise")
    assert found == code
    assert ("a.py" in err) == bool(code)


def test_what_is_allowed_may_stand_in_the_settings(project: Path, capsys):
    (project / "a.py").write_text(BROKEN)
    (project / "pyproject.toml").write_text("[tool.verax]\nallow-unread = true\n")
    assert audited(capsys, format="concise")[0] == 0
    assert audited(capsys, "--no-allow-unread", format="concise")[0] == 2


@pytest.mark.parametrize(
    "format", ["text", "concise", "json", "markdown", "html", "github", "sarif"]
)
@pytest.mark.parametrize("text", [BROKEN, CRASH])
def test_every_format_tells(project: Path, capsys, format: str, text: str):
    (project / "a.py").write_text(text)
    _, out, _ = audited(capsys, format=format)
    assert "a.py" in out
    assert ("invalid syntax" if text == BROKEN else "planted") in out
    if format != "sarif":
        assert "1 not audited" in out


def test_github_shows_it_beside_the_file(project: Path, capsys):
    (project / "a.py").write_text(BROKEN)
    (project / "b.py").write_text(CRASH)
    _, out, _ = audited(capsys, format="github")
    own, unread, _ = out.splitlines()
    assert own == (
        "::error file=b.py,title=verax failed::"
        "verax itself failed: RuntimeError: planted ::error::more"
    )
    assert unread.startswith("::error file=a.py,line=2,col=1,title=not audited::cannot be read: ")
    _, out, _ = audited(capsys, "--allow-unread", format="github")
    assert out.splitlines()[1].startswith("::warning file=a.py,line=2,")


def invocation(text: str) -> dict[str, Any]:
    return json.loads(text)["runs"][0]["invocations"][0]


@pytest.mark.parametrize(
    ("text", "options", "successful", "level"),
    [
        (BROKEN, [], False, "error"),
        (BROKEN, ["--allow-unread"], True, "warning"),
        (CRASH, ["--allow-unread"], False, "error"),
    ],
)
def test_sarif_says_that_the_execution_was_not_successful(
    project: Path, capsys, text: str, options: list[str], successful: bool, level: str
):
    (project / "a.py").write_text(text)
    found = invocation(audited(capsys, *options, format="sarif")[1])
    assert found["executionSuccessful"] is successful
    (notification,) = found["toolExecutionNotifications"]
    assert notification["level"] == level
    location = notification["locations"][0]["physicalLocation"]["artifactLocation"]
    assert location == {"uri": "a.py"}


def test_json_lists_it(project: Path, capsys):
    (project / "a.py").write_text(BROKEN)
    (project / "b.py").write_text(CRASH)
    data = check_schema(audited(capsys, format="json")[1])
    assert [it["place"]["file"] for it in data["unread"]] == ["a.py"]
    assert [it["place"]["file"] for it in data["failures"]] == ["b.py"]


def test_a_cell_that_is_no_python_is_shown_and_no_error(project: Path, capsys):
    cells = [{"cell_type": "code", "source": text} for text in ("def f(:", "x = 1")]
    (project / "n.ipynb").write_text(json.dumps({"cells": cells}))
    code, out, _ = audited(capsys, format="github")
    assert code == 0
    assert out.startswith("::warning file=n.ipynb,line=1,col=1,title=not audited (cell 1)::")


def test_a_rule_that_fails_is_a_failure_of_ours(project: Path, capsys, monkeypatch):
    def check(facts: Any):
        raise RuntimeError("planted")

    rule = replace(example_rule("AX001", "axes-mixed"), source=check)
    monkeypatch.setattr(registry, "_RULES", (rule,))
    (project / "a.py").write_text(FINE)
    code, out, _ = audited(capsys, format="github")
    assert code == 3
    assert out.startswith(
        "::error file=a.py,title=verax failed::rule AX001 failed: RuntimeError: planted"
    )


def test_a_trace_that_fails_does_not_end_the_audit_of_the_rest(project: Path, capsys, monkeypatch):
    def failing(*_: Any):
        raise OwnError("verax itself failed: KeyError: 'x'")

    monkeypatch.setattr("verax.audit.command.audit_in_child", failing)
    (project / "a.py").write_text("def step(x):\n    return x\n")
    assert main(["audit", "a.py:step", "--format", "json", "--in", "x=1"]) == 3
    data = check_schema(capsys.readouterr().out)
    assert data["failures"] == [{"place": None, "text": "verax itself failed: KeyError: 'x'"}]


@pytest.mark.parametrize(
    "format", ["text", "concise", "json", "markdown", "html", "github", "sarif"]
)
def test_a_failure_of_the_whole_audit(project: Path, capsys, monkeypatch, format: str):
    def failing(*_: Any, **__: Any):
        raise ValueError("planted")

    monkeypatch.setattr("verax.audit.command.audit_files", failing)
    code, out, err = audited(capsys, format=format)
    assert code == 3
    assert err == "verax: error: verax itself failed: ValueError: planted\n"
    assert "verax itself failed: ValueError: planted" in out
    if format == "github":
        assert out.startswith("::error title=verax failed::")
    if format == "sarif":
        assert invocation(out)["executionSuccessful"] is False
    assert "Traceback" in audited(capsys, "-v", format=format)[2]


def test_a_failure_before_the_format_is_known(project: Path, capsys, monkeypatch):
    def failing(*_: Any):
        raise ValueError("planted")

    monkeypatch.setattr("verax.cli.read_settings", failing)
    assert main(["audit", "."]) == 3
    out, err = capsys.readouterr()
    assert "verax itself failed: ValueError: planted" in out
    assert err == "verax: error: verax itself failed: ValueError: planted\n"


def test_a_traceback_of_ours_does_not_act(project: Path, capsys, monkeypatch):
    def failing(*_: Any, **__: Any):
        raise ValueError("\x1b[2J\n::stop-commands::x\n##[group]y")

    monkeypatch.setattr("verax.audit.command.audit_files", failing)
    err = audited(capsys, "-v", format="text")[2]
    assert "Traceback" in err
    assert not [it for it in ("\x1b", "\n::", "##[") if it in err]


def test_a_wrong_call_is_an_error_command_too(capsys):
    assert main(["audit", "gone.py", "--format", "github"]) == 2
    out, err = capsys.readouterr()
    assert out == "::error::target 'gone.py': there is no such file or folder\n"
    assert err == "verax: error: target 'gone.py': there is no such file or folder\n"


def test_of_many_only_some_are_named_on_stderr(project: Path, capsys):
    for number in range(9):
        (project / f"m{number}.py").write_text(BROKEN)
    _, out, err = audited(capsys, format="github")
    assert out.count("::error ") == 9
    assert err.count("cannot be read") == 3
    assert "and 6 more, which the report names" in err
