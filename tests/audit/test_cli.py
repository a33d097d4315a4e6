"""The command line, as users meet it."""

import json
import os
import pkgutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import verax
from verax import cli
from verax.audit import Confidence, Finding, Report, Severity, Verified, child, record
from verax.audit.child import Given
from verax.audit.errors import UsageError
from verax.audit.rules import registry
from verax.cli import main

from .reports import check_schema
from .sample import COST, ISSUE, REPORT, example_rule
from .test_terminal import EXPECTED


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PYTHONPATH", str(Path(verax.__file__).parents[1]))
    (tmp_path / "train.py").write_text("def step(x):\n    return x * 2\n")
    in_preview = replace(example_rule("RK001", "key-reused"), preview=True)
    rules = (example_rule("AX001", "axes-mixed"), in_preview)
    monkeypatch.setattr(registry, "_RULES", rules)
    judged = {"version": "1", "lines": 1234, "findings": {"AX001 a.py:3": "true"}}
    data = {"packages": {}, "programs": {"a": judged}}
    monkeypatch.setattr(record, "read", lambda: data)
    return tmp_path


@pytest.fixture
def asked(monkeypatch) -> list[tuple[str, Given, float]]:
    """Audits give the sample report at once; the list is of what was asked for."""
    calls: list[tuple[str, Given, float]] = []

    def audit(target, given, timeout):
        calls.append((target.text, given, timeout))
        return REPORT

    monkeypatch.setattr("verax.audit.command.audit_in_child", audit)
    return calls


def error_of(capsys, *arguments: str) -> str:
    """The one line that a wrong call gets."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    return err.removesuffix("\n")


def test_a_report_as_text(asked, capsys):
    assert main(["audit", "train.py:step"]) == 1
    assert capsys.readouterr().out == EXPECTED
    assert asked == [("train.py:step", Given([], {}), 60.0)]


def test_all_that_is_said_of_inputs_is_passed_on(asked):
    main("audit train.py:step --in x=f32[n] --in y=3 --dim n=8 --axes AXES --timeout 2.5".split())
    assert asked == [("train.py:step", Given(["x=f32[n]", "y=3"], {"n": 8}, None, "AXES"), 2.5)]


@pytest.mark.parametrize(
    ("format", "start"),
    [
        ("text", "train.py:step\n"),
        ("concise", "train.py:41:12: AX001 critical: "),
        ("json", "{\n"),
        ("markdown", "# Audit of"),
        ("html", "<!doctype html>"),
        ("sarif", "{\n"),
        ("github", "::error "),
    ],
)
def test_formats(asked, capsys, format: str, start: str):
    main(["audit", "train.py:step", "--format", format])
    assert capsys.readouterr().out.startswith(start)


def test_json_follows_the_schema(asked, capsys):
    main(["audit", "train.py:step", "--format", "json"])
    assert check_schema(capsys.readouterr().out)["summary"]["issues"] == 2


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        (Severity.CRITICAL, None, 1),
        (Severity.ERROR, None, 1),
        (Severity.MINOR, None, 0),
        (Severity.MINOR, "minor", 1),
        (Severity.ERROR, "critical", 0),
        (Severity.CRITICAL, "critical", 1),
        (Severity.CRITICAL, "never", 0),
        (None, "minor", 0),
    ],
)
def test_the_exit_code(asked, monkeypatch, severity: Severity | None, fail_on, code: int):
    issues: tuple[Finding, ...] = ()
    if severity is not None:
        issues = (replace(ISSUE, severity=severity),)
    # Warnings never count.
    report = Report("t", issues=issues, warnings=(ISSUE,))
    monkeypatch.setattr("verax.audit.command.audit_in_child", lambda *_: report)
    option = ["--fail-on", fail_on] if fail_on else []
    assert main(["audit", "train.py:step", *option]) == code


@pytest.mark.parametrize(("confidence", "code"), [("certain", 1), ("likely", 0)])
def test_only_what_is_certain_may_count(asked, monkeypatch, confidence: str, code: int):
    issue = replace(ISSUE, severity=Severity.MINOR, confidence=Confidence(confidence))
    report = Report("t", issues=(issue,), warnings=(ISSUE,))
    monkeypatch.setattr("verax.audit.command.audit_in_child", lambda *_: report)
    assert main(["audit", "train.py:step", "--fail-on", "certain"]) == code


PREVIEW = Report(
    "t",
    issues=(replace(ISSUE, code="RK001", preview=True),),
    verified=(Verified("RK001", "prng", "one draw", "one key", preview=True),),
    warnings=(replace(ISSUE, code="RK001", preview=True),),
)


@pytest.mark.parametrize(
    ("option", "setting", "shown"),
    [
        ("", "", False),
        ("--preview", "", True),
        ("", "preview = true", True),
        ("--no-preview", "preview = true", False),
    ],
)
def test_rules_in_preview_are_silent_unless_asked_for(
    monkeypatch, capsys, project: Path, option: str, setting: str, shown: bool
):
    monkeypatch.setattr("verax.audit.command.audit_in_child", lambda *_: PREVIEW)
    (project / "pyproject.toml").write_text(f"[tool.verax]\n{setting}")
    call = f"audit train.py:step --format json {option}".split()
    assert main(call) == int(shown)
    data = check_schema(capsys.readouterr().out)
    assert [len(data[it]) for it in ("issues", "verified", "warnings")] == [int(shown)] * 3


def test_a_rule_in_preview_that_is_selected_says_how_to_enable_it(monkeypatch, capsys):
    monkeypatch.setattr("verax.audit.command.audit_in_child", lambda *_: PREVIEW)
    call = ["audit", "train.py:step", "--format", "concise", "--select"]
    main([*call, "key-reused"])
    assert capsys.readouterr().out == (
        "note: RK001 is in preview; --preview enables it\nno issues, no warnings, 0 verified\n"
    )
    main([*call, "key-reused", "--preview"])
    assert "note" not in capsys.readouterr().out
    main([*call, "RK,AX"])
    assert "note" not in capsys.readouterr().out


def test_several_targets_make_one_report(asked, monkeypatch, capsys):
    reports = {
        "train.py:step": Report("train.py:step", issues=(ISSUE,), notes=("same",)),
        "train.py:other": Report("train.py:other", issues=(ISSUE, COST), notes=("same",)),
    }
    monkeypatch.setattr("verax.audit.command.audit_in_child", lambda it, *_: reports[it.text])
    main(["audit", *reports, "--format", "json"])
    data = check_schema(capsys.readouterr().out)
    assert data["target"] == "train.py:step, train.py:other"
    assert [issue["code"] for issue in data["issues"]] == ["AX001", "JT004"]
    assert data["notes"] == ["same"]


def test_of_several_targets_the_wrong_one_is_named(asked, monkeypatch, capsys):
    def audit(target, *_):
        if target.attribute == "other":
            raise UsageError("parameter 'x' is not known")
        return REPORT

    monkeypatch.setattr("verax.audit.command.audit_in_child", audit)
    message = error_of(capsys, "audit", "train.py:step", "train.py:other")
    assert message == "verax: error: train.py:other: parameter 'x' is not known"
    message = error_of(capsys, "audit", "train.py:other")
    assert message == "verax: error: parameter 'x' is not known"


def test_select_and_ignore(asked, capsys):
    assert main(["audit", "train.py:step", "--select", "axes-mixed", "--ignore", "RK"]) == 1
    out = capsys.readouterr().out
    assert "AX001" in out
    assert "JT004" not in out
    assert main(["audit", "train.py:step", "--ignore", "AX,JT"]) == 0


def test_settings_count_unless_the_command_line_says_otherwise(asked, capsys, project: Path):
    (project / "pyproject.toml").write_text(
        '[tool.verax]\nselect = ["JT"]\nfail-on = "minor"\nformat = "github"\n'
    )
    assert main(["audit", "train.py:step"]) == 1
    assert capsys.readouterr().out.startswith("::warning file=train.py,line=50")
    call = "audit train.py:step --fail-on never --format markdown --select AX"
    assert main(call.split()) == 0
    assert "### AX001" in capsys.readouterr().out


def test_depth_and_focus(asked, capsys):
    main("audit train.py:step --depth 0 --focus h".split())
    out = capsys.readouterr().out
    assert "· 1 step inside" in out
    assert "static_argnums" not in out


def test_colour(asked, capsys, monkeypatch):
    main(["audit", "train.py:step", "--color", "always"])
    assert "\x1b[" in capsys.readouterr().out
    main(["audit", "train.py:step"])
    assert "\x1b[" not in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    main(["audit", "train.py:step"])
    assert "\x1b[" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    main(["audit", "train.py:step"])
    assert "\x1b[" not in capsys.readouterr().out


def test_output_to_a_file(asked, capsys, project: Path):
    (project / "report.txt").write_text("older")
    assert main(["audit", "train.py:step", "-o", "report.txt"]) == 1
    assert capsys.readouterr().out == ""
    assert (project / "report.txt").read_text() == EXPECTED
    assert sorted(it.name for it in project.iterdir()) == ["report.txt", "train.py"]
    main(["audit", "train.py:step", "-o", "-"])
    assert capsys.readouterr().out == EXPECTED
    main(["audit", "train.py:step", "-o", os.devnull])
    assert not Path(os.devnull).is_file()


def test_a_file_that_cannot_be_written(asked, capsys, project: Path):
    message = error_of(capsys, "audit", "train.py:step", "-o", "gone/report.txt")
    assert message == (
        "verax: error: -o gone/report.txt: cannot be written: No such file or directory"
    )
    (project / "folder").mkdir()
    message = error_of(capsys, "audit", "train.py:step", "-o", "folder")
    assert message == "verax: error: -o folder: cannot be written: Is a directory"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("", "the following arguments are required: COMMAND; see verax --help"),
        (
            "audit",
            "name a file or a folder to audit, as in `verax audit src/`; see verax audit --help",
        ),
        ("adit x", "argument COMMAND: invalid choice: 'adit'"),
        ("audit x:y --fromat json", "unrecognized arguments: --fromat json; see verax --help"),
        ("audit x:y --depth -1", "argument --depth: '-1' is no number of levels; see verax audit"),
        ("audit x:y --depth many", "argument --depth: 'many' is no number of levels"),
        ("audit x:y --timeout 0", "argument --timeout: '0' is no number of seconds"),
        ("audit x:y --timeout soon", "argument --timeout: 'soon' is no number of seconds"),
        ("audit x:y --in x=f3[]", "--in 'x=f3[]', at 'f3[]' (character 3): there is no dtype"),
        ("audit x:y --dim n", "--dim 'n': write NAME=SIZE, as in --dim batch=8"),
        ("audit x:y --select QQ", "--select: there is no rule 'QQ'; see `verax rules`"),
        ("audit x:y --ignore AX002", "--ignore: there is no rule 'AX002'; did you mean AX001?"),
        (
            "audit x:y --in x=3 --inputs f",
            "--inputs gives all arguments; leave out --in, or --inputs",
        ),
        ("audit gone.py", "target 'gone.py': there is no such file or folder"),
        (
            "audit train.py --in x=3",
            "--in is for a function that is traced; name it, as in train.py:",
        ),
        (
            "audit . --inputs f",
            "--inputs is for a function that is traced; name it, as in file.py:",
        ),
        ("audit train.py --jobs 0", "argument --jobs: '0' is no number of processes"),
        ("audit gone.py:step", "target 'gone.py:step': there is no file gone.py"),
        ("explain AX009", "there is no rule 'AX009'; did you mean AX001?"),
    ],
)
def test_a_wrong_call_gets_one_line(capsys, call: str, message: str):
    assert error_of(capsys, *call.split()).startswith(f"verax: error: {message}")


def test_wrong_settings_get_one_line(capsys, project: Path):
    (project / "pyproject.toml").write_text('[tool.verax]\nignore = ["AX002"]\n')
    assert error_of(capsys, "audit", "train.py:step") == (
        "verax: error: pyproject.toml, [tool.verax] ignore: there is no rule 'AX002'; "
        "did you mean AX001?"
    )


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"verax {verax.__version__}\n"


def test_rules(capsys):
    assert main(["rules"]) == 0
    assert capsys.readouterr().out == (
        "AX001  axes-mixed  critical            Title of axes-mixed\n"
        "RK001  key-reused  critical (preview)  Title of key-reused\n"
    )
    assert main(["rules", "--format", "json"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert second["preview"]
    assert first == {
        "code": "AX001",
        "name": "axes-mixed",
        "title": "Title of axes-mixed",
        "family": "axis",
        "severity": "critical",
        "confidence": "likely",
        "warns": False,
        "preview": False,
        "record": {"true": 1, "harmless": 0, "false": 0, "lines": 1234},
        "engines": [],
        "explanation": "Finds `axes-mixed`, which\nmatters.",
        "wrong": "def entry(x):\n    return wrong(x)",
        "right": "def entry(x):\n    return right(x)",
    }
    assert main(["rules", "--format", "markdown"]) == 0
    page = capsys.readouterr().out
    assert "| [AX001](#ax001-axes-mixed) | axes-mixed | critical | Title of axes-mixed |" in page
    assert "## axis\n\n### AX001 axes-mixed\n" in page


@pytest.mark.parametrize("name", ["AX001", "ax001", "axes-mixed"])
def test_explain(capsys, name: str):
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out == (
        "# AX001 axes-mixed\n\nTitle of axes-mixed.\n\n*axis, critical*\n\n"
        "Finds `axes-mixed`, which\nmatters.\n\n"
        "On record: 1 true, 0 harmless, 0 false, on 1,234 lines.\n\n"
        "Wrong:\n\n```py\ndef entry(x):\n    return wrong(x)\n```\n\n"
        "Right:\n\n```py\ndef entry(x):\n    return right(x)\n```\n\n"
        "To suppress a finding, write `# verax: ignore[AX001] reason` on its line.\n"
    )


@pytest.mark.parametrize("name", ["axis", "AX", "ax0"])
def test_explain_a_family(capsys, name: str):
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out == "AX001  axes-mixed  critical  Title of axes-mixed\n"


def test_explain_says_which_engine_finds_it(capsys, monkeypatch):
    both = replace(example_rule("AX001", "axes-mixed"), trace=iter, source=iter, exact="it is seen")
    monkeypatch.setattr(registry, "_RULES", (both,))
    main(["explain", "AX001"])
    out = capsys.readouterr().out
    assert "found by static analysis (likely) and in a trace (certain)*" in out
    assert "\nA traced finding is exact: it is seen.\n" in out


def test_explain_says_that_a_rule_is_in_preview(capsys):
    main(["explain", "RK001"])
    assert "\nIn preview, because " in capsys.readouterr().out


def test_a_focus_is_nothing_to_a_list_of_findings(capsys):
    assert main("audit train.py --focus nothing --format concise".split()) == 0
    assert capsys.readouterr().out == "no issues, no warnings, 0 verified\n"


def run(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "verax", *arguments], capture_output=True, text=True, **options
    )


def test_a_whole_run():
    done = run("audit", "train.py:step", "--in", "x=f32[batch=8]", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    data = check_schema(done.stdout)
    assert data["target"] == "train.py:step"
    assert data["data_flow"][0]["inputs"][0]["tensor"]["text"] == "f32[batch=8]"


def test_a_comment_suppresses_a_finding(project: Path):
    program = (
        "from jax.random import normal\ndef step(key):\n    return normal(key) + normal(key){}\n"
    )
    (project / "keys.py").write_text(program.format(""))
    done = run("audit", "keys.py:step", "--in", "key=key[]", "--format", "json")
    codes = {issue["code"] for issue in json.loads(done.stdout)["issues"]}
    assert done.returncode == 1
    assert codes
    comment = f"  # verax: ignore[{','.join(codes)}] the same on purpose"
    (project / "keys.py").write_text(program.format(comment))
    done = run("audit", "keys.py:step", "--in", "key=key[]", "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["issues"] == []


def test_a_wrong_target_exits_with_two():
    done = run("audit", "train.py:stp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "verax: error: train.py has no 'stp'; did you mean step?\n"


@pytest.mark.parametrize("call", ["audit train.py", "rules", "--help"])
def test_a_reader_that_goes_away_ends_it_quietly(call: str):
    command = [sys.executable, "-m", "verax", *call.split()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_output_where_only_ascii_can_be_written():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = run("audit", "train.py:step", "--in", "x=f32[batch=8]", env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "|-- " in done.stdout


def test_an_interrupt_ends_quietly_with_what_was_started(project: Path):
    (project / "slow.py").write_text(
        "import os, pathlib, time\npathlib.Path('pid').write_text(str(os.getpid()))\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "verax", "audit", "slow.py:step"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (project / "pid").exists() or not (project / "pid").read_text():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((project / "pid").read_text()), 0)


@pytest.mark.parametrize("call", ["--help", "audit --help", "rules", "explain RK001", "audit x"])
def test_nothing_slow_is_loaded_before_it_is_needed(call: str):
    program = (
        "import sys, verax.cli\n"
        f"try: verax.cli.main({call.split()})\n"
        "except SystemExit: pass\n"
        "print('slow:', {'jax', 'numpy', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.endswith("slow: set()\n"), done.stderr


def test_help_is_quick():
    """By the processor's time: what else the machine does is not our fault."""
    times: list[float] = []
    for _ in range(5):
        before = os.times()
        run("--help")
        after = os.times()
        times.append(
            after.children_user
            - before.children_user
            + after.children_system
            - before.children_system
        )
    assert min(times) < 0.2


def test_the_installed_command_is_this_one():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert pkgutil.resolve_name(project["scripts"]["verax"]) is cli.run


def test_the_time_limit_is_the_documented_one():
    assert child.DEFAULT_TIMEOUT == 60
