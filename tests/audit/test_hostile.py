"""Files, names and settings of somebody who means harm: one line, an end, and nothing acts."""

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

import verax
from verax.audit import Evidence, Place, Report
from verax.audit.plain import inert, plain
from verax.audit.report import Failure, Unread
from verax.audit.settings import FORMATS
from verax.cli import main

from .sample import ISSUE

NAMES = [
    "a\n::stop-commands::x\n.py",
    "\x1b[2J.py",
    "\u202egnp.py",
    "##[error]x.py",
    "##vso[task.setvariable variable=x]y.py",
    "::error::x.py",
    "a\u2028b.py",
    "a\rb.py",
    "%0A::error::.py",
    os.fsdecode(b"\xff.py"),
]

OURS = ("::error ", "::warning ", "::notice ", "::error::", "::notice::")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(verax.__file__).parents[1]))
    return tmp_path


def verax_(
    *arguments: str, python: tuple[str, ...] = ("-P",)
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, *python, "-m", "verax", *arguments]
    return subprocess.run(command, capture_output=True, timeout=120)


def refused(*arguments: str) -> str:
    done = verax_("audit", *arguments)
    error = done.stderr.decode()
    assert (done.returncode, error.count("\n")) == (2, 1), done
    return error.removeprefix("verax: error: ").removesuffix("\n")


def check_stream(text: str, commands: bool = False) -> None:
    """Nothing in a log acts: but for the commands that are ours, where there may be any."""
    text.encode("utf-8")
    for line in text.split("\n"):
        assert line == plain(line), repr(line)
        if line.lstrip().startswith("::"):
            assert commands, line
            assert line.startswith(OURS)
        else:
            assert "##[" not in line
            assert "##vso[" not in line


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_no_name_acts(project: Path, capsys, format: str, name: str):
    folder = project / f"in {name}"
    folder.mkdir()
    (folder / name).write_text("def f(:\n")
    (project / name).write_text("import jax\n")
    calls = [["."], [name], [f"in {name}"], [f"gone {name}"], [f"{name}:step"]]
    for targets in calls:
        main(["audit", *targets, "--format", format, "--no-cache", "--jobs", "1"])
        out, err = capsys.readouterr()
        check_stream(out, commands=format == "github")
        check_stream(err)
        if format in ("json", "sarif") and out:
            json.loads(out)
            out.encode("utf-8")
            assert "\\udcff" not in json.dumps(json.loads(out)).replace("\\\\udcff", "")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_report_acts(format: str, name: str):
    from importlib import import_module

    place = Place(name, 3, function=name)
    texts = dict.fromkeys(("family", "title", "current", "expected", "fix"), name)
    finding = replace(ISSUE, place=place, evidence=(Evidence(name, place),), **texts)
    report = Report(
        name,
        issues=(finding,),
        warnings=(finding,),
        notes=(name,),
        unread=(Unread(place, name),),
        failures=(Failure(name, place), Failure(name)),
    )
    module = import_module(f"verax.audit.render.to_{'terminal' if format == 'text' else format}")
    text = module.render(report)
    check_stream(inert(text) if format == "text" else text, commands=format == "github")


@pytest.mark.parametrize("value", ["\n::error::x", "\x1b[2J", "\u202e"])
def test_no_setting_acts(project: Path, capsys, value: str):
    for key in ("select", "format", "baseline", f"x{value}"):
        text = f"[tool.verax]\n{json.dumps(key)} = {json.dumps(value)}\n"
        (project / "pyproject.toml").write_text(text)
        main(["audit", "."])
        out, err = capsys.readouterr()
        assert err.count("\n") == 1
        check_stream(out)
        check_stream(err)


def test_no_note_about_the_cache_acts(project: Path, monkeypatch):
    """Where it lies in a folder whose name somebody else has chosen."""
    for at, name in enumerate(NAMES):
        cache = project / name / "cache"
        cache.parent.mkdir()
        (cache.parent / "a.py").write_text("x = 1\n")
        cache.symlink_to(project)
        subprocess.run(["git", "init", "--quiet"], cwd=cache.parent, check=True)
        monkeypatch.setenv("VERAX_CACHE_DIR", str(cache))
        done = verax_("audit", f"{name}/a.py", "--format", "concise")
        assert done.returncode == 0, (at, done)
        assert done.stderr.startswith(b"verax: note: there is no cache, since ")
        assert done.stderr.count(b"\n") == 1
        check_stream(done.stderr.decode())


def test_what_blocks_or_has_no_end_is_not_opened(project: Path):
    os.mkfifo(project / "pipe.py")
    os.mkfifo(project / "pipe")
    (project / "folder").mkdir()
    (project / "unread").mkdir()
    os.mkfifo(project / "unread" / "pipe.py")
    (project / "unread" / "device.py").symlink_to("/dev/zero")
    (project / "folder" / ".gitignore").symlink_to("/dev/zero")
    (project / "folder" / "a.py").write_text("import pipe\nimport jax\n")
    for target in ("pipe.py", "pipe", "/dev/zero", "/dev/tty"):
        if os.path.exists(target):
            assert refused(target) == f"target {target!r}: is neither a file nor a folder"
    assert refused("pipe.py:step").endswith("pipe.py is no ordinary file")
    assert verax_("audit", "folder", "folder/a.py").returncode == 0
    done = verax_("audit", "unread")
    assert done.returncode == 2
    for name in ("device", "pipe"):
        note = f"{name}.py: cannot be read: it is no ordinary file"
        assert note in " ".join(done.stdout.decode().split())
    assert verax_("audit", "unread", "--allow-unread").returncode == 0
    for file in ("pipe", "/dev/zero"):
        message = refused("folder", "--baseline", file)
        assert message == f"--baseline {file}: cannot be read: it is no ordinary file"
        (project / "pyproject.toml").write_text(f"[tool.verax]\nbaseline = '{file}'\n")
        assert refused("folder").endswith("cannot be read: it is no ordinary file")


def test_a_large_limit_takes_no_memory(project: Path):
    (project / "pyproject.toml").write_text(f"[tool.verax]\nmax-file-size = {10**30}\n")
    (project / "a.py").write_text("import jax\n")
    (project / "n.ipynb").write_text('{"cells": []}')
    assert verax_("audit", ".").returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 10_000 + "]" * 10_000,
        "x = " + "{a = " * 10_000 + "1" + "}" * 10_000,
        "[tool.verax]\nselect" + ".a" * 20_000 + " = 1",
        "x" + ".a" * 400_000 + " = 1",
        "x" + """ . "\\"" """ * 100_000 + " = 1",
        "['x'" + ".'a'" * 100_000 + "]",
        "x = 1\n" + "# more\n" * 200_000,
        "[tool.verax]\nselect = " + "[" * 150 + "]" * 150,
        "[tool.verax]\nmax-file-size = " + "9" * 5000,
        "tool = 1\n" * 2,
        "\0",
    ],
)
def test_settings_that_nobody_writes(project: Path, text: str):
    (project / "pyproject.toml").write_text(text)
    assert refused(".").startswith("pyproject.toml")


@pytest.mark.parametrize("key", ["max-file-size", "trace-timeout"])
def test_numbers_that_nobody_can_print(project: Path, key: str):
    (project / "pyproject.toml").write_text(f"[tool.verax]\n{key} = 0x{'f' * 4000}\n")
    (project / "a.py").write_text("import jax\n")
    done = verax_("audit", ".")
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_working_directory_deeper_than_a_path_may_be(project: Path, capsys, monkeypatch):
    for _ in range(25):
        os.mkdir("d" * 200)
        monkeypatch.chdir("d" * 200)
    Path("a.py").write_text("import jax\n")
    assert main(["audit", "a.py"]) == 2
    assert "a.py: cannot be read: File name too long\n" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["1", "-1", "1.5", "nan", "true", "[1]", "[[]]", "{a=1}", "''"])
@pytest.mark.parametrize(
    "key",
    "select ignore preview fail-on format exclude baseline max-file-size allow-unread".split(),
)
def test_settings_of_a_wrong_type(project: Path, capsys, key: str, value: str):
    (project / "pyproject.toml").write_text(f"[tool.verax]\n{key} = {value}\n")
    fine = {"max-file-size": ("1",), "preview": ("true",), "allow-unread": ("true",)}
    empty = ("''",) if key in ("select", "ignore", "exclude") else ()
    expected = 0 if value in (*fine.get(key, ()), *empty) else 2
    assert main(["audit", "."]) == expected
    assert capsys.readouterr().err.count("\n") == expected // 2


@pytest.mark.parametrize("count", ["1e400", "-1", "0", "true", '"1"', "1.5", "9" * 400, "null"])
def test_a_baseline_that_is_damaged(project: Path, count: str):
    entry = '{"code": "RK001", "file": "a.py", "text": "x", "engine": "source", "count": COUNT}'
    text = '{"schema": "verax.baseline/1", "findings": [ENTRY]}'.replace("ENTRY", entry)
    (project / "b.json").write_text(text.replace("COUNT", count))
    assert "b.json: is damaged" in refused(".", "--baseline", "b.json")


def test_a_baseline_with_a_name_that_no_file_has(project: Path):
    entry = {"code": "RK001", "file": "a/" * 5000, "text": "x", "engine": "source", "count": 1}
    baseline = {"schema": "verax.baseline/1", "findings": [entry]}
    (project / "b.json").write_text(json.dumps(baseline))
    (project / "a.py").write_text("import jax\n")
    done = verax_("audit", ".", "--baseline", "b.json", "--format", "concise")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"b.json: 1 known finding is gone" in done.stdout


def test_names_and_annotations_that_are_none_cost_nothing(project: Path, capsys):
    text = """
        import jax
        from collections import namedtuple
        T, U = namedtuple("T", "class x"), namedtuple("class", ["\\ud800"])
        def draw(key, x: "\\ud800" = "\\udfff", y: "'\\d' is 1" = T(1, 2)):
            s: "\\ud800" = 3
            t: "Float[\\0]" = U(4)
            return jax.random.normal(key) + jax.random.normal(key)
        """
    (project / "a.py").write_text(textwrap.dedent(text))
    for jobs in ("1", "2"):
        (project / "b.py").write_text(f"import jax  # {jobs}\n")
        assert main(["audit", ".", "--jobs", jobs, "--format", "json"]) == 1
        assert [it["code"] for it in json.loads(capsys.readouterr().out)["issues"]] == ["RK001"]


def test_an_exception_that_cannot_be_shown(project: Path):
    text = """
        class Odd(Exception):
            def __str__(self):
                raise ValueError("no")
        def step(x):
            raise Odd()
        def inputs():
            raise Odd()
        """
    (project / "a.py").write_text(textwrap.dedent(text))
    done = verax_("audit", "a.py:step", "--in", "x=f32[3]", "--format", "json")
    assert done.returncode == 1, done
    assert len(json.loads(done.stdout)["issues"]) == 1
    assert "Odd" in refused("a.py:step", "--inputs", "inputs")


SHADOWS = ("ast", "json", "argparse", "dataclasses", "typing", "tempfile", "hashlib", "sqlite3")


def test_modules_beside_the_program_are_not_ours(project: Path):
    for name in SHADOWS:
        (project / f"{name}.py").write_text(f"open('imported {name}', 'w')\nraise SystemExit(9)\n")
    (project / "train.py").write_text("import helper\ndef step(x):\n    return helper.f(x)\n")
    (project / "helper.py").write_text("def f(x):\n    return x * 2\n")
    done = verax_("audit", "train.py", python=())
    assert (done.returncode, done.stderr) == (0, b"")
    assert not list(project.glob("imported *"))


def test_a_traced_program_finds_its_own_modules(project: Path):
    (project / "train.py").write_text("import helper\ndef step(x):\n    return helper.f(x)\n")
    (project / "helper.py").write_text("def f(x):\n    return x * 2\n")
    for target in ("train.py:step", "train:step"):
        done = verax_("audit", target, "--in", "x=f32[3]", python=())
        assert (done.returncode, done.stderr) == (0, b""), done
