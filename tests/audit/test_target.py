"""What a target on the command line means."""

from pathlib import Path

import pytest

from verax.audit.errors import UsageError
from verax.audit.target import FunctionTarget, SourceTarget, parse_target


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import jax\ndef _hidden(): ...\ndef step(x): ...\n")
    (tmp_path / "broken.py").write_text("def\n")
    (tmp_path / "notes.txt").write_text("")
    (tmp_path / "src").mkdir()
    return tmp_path


def test_a_function_in_a_file():
    assert parse_target("train.py:step") == FunctionTarget("train.py:step", "step", file="train.py")
    assert parse_target("./train.py:Model.step") == FunctionTarget(
        "./train.py:Model.step", "Model.step", file="./train.py"
    )


def test_a_function_in_a_module():
    assert parse_target("pkg.train:step") == FunctionTarget(
        "pkg.train:step", "step", module="pkg.train"
    )


def test_files_and_folders():
    assert parse_target("train.py") == SourceTarget("train.py", Path("train.py"))
    assert parse_target("src/") == SourceTarget("src/", Path("src"))
    assert parse_target("-") == SourceTarget("-", Path("-"))


def test_a_module_is_found_without_being_run(project: Path):
    package = project / "src" / "pkg" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("raise SystemExit('was run')")
    (package / "part.py").write_text("raise SystemExit('was run')")
    assert parse_target("train") == SourceTarget("train", project / "train.py")
    assert parse_target("pkg.inner") == SourceTarget("pkg.inner", package)
    assert parse_target("pkg.inner.part") == SourceTarget("pkg.inner.part", package / "part.py")


@pytest.mark.parametrize("name", ["pkg.gone", "train.step", "sys", "math"])
def test_what_is_no_module_of_python(name: str):
    with pytest.raises(UsageError, match="and no such module"):
        parse_target(name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train.py:", "target 'train.py:': name a function after the colon: train.py:step"),
        ("gone.py:", "target 'gone.py:': name a function after the colon"),
        ("train.py::step", "target 'train.py::step': write one colon, train.py:step"),
        (
            "train.py:st ep",
            "target 'train.py:st ep': 'st ep' is not the name of a function, like step or "
            "Model.step",
        ),
        (
            ":step",
            "target ':step': name a file or module before the colon, as in file.py:function or "
            "package.module:function",
        ),
        ("gone.py:step", "target 'gone.py:step': there is no file gone.py"),
        ("a/gone:step", "target 'a/gone:step': there is no file a/gone"),
        (
            "src:step",
            "target 'src:step': src is a folder; name a file, as in file.py:function or "
            "package.module:function",
        ),
        ("notes.txt:step", "target 'notes.txt:step': notes.txt is not a Python file"),
        (
            "a-b:step",
            "target 'a-b:step': 'a-b' is neither a file nor a module; write file.py:function or "
            "package.module:function",
        ),
        ("gone.py", "target 'gone.py': there is no such file or folder"),
        (
            "pkg.train",
            "target 'pkg.train': there is no such file or folder, and no such module",
        ),
        (
            "a b",
            "target 'a b': write a file, a folder, file.py:function or package.module:function",
        ),
        ("", "target '': write a file, a folder, file.py:function or package.module:function"),
    ],
)
def test_what_is_no_target(text: str, message: str):
    with pytest.raises(UsageError) as error:
        parse_target(text)
    assert str(error.value) == message


def test_a_file_by_another_name(project: Path):
    """A script may be called anything; what is no program at all is no target."""
    (project / "script").write_text("#!/usr/bin/env python3\nx = 1\n")
    assert parse_target("script") == SourceTarget("script", Path("script"))
    (project / "notes.md").write_text("# Notes\n\nNot a program.\n")
    with pytest.raises(UsageError, match=r"'notes.md': is neither a Python file nor a notebook"):
        parse_target("notes.md")
    # One that is called a program, and has an error, is named in the report.
    (project / "wrong.py").write_text("def\n")
    assert parse_target("wrong.py") == SourceTarget("wrong.py", Path("wrong.py"))
