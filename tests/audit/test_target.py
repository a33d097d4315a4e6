"""What a target on the command line means."""

from pathlib import Path

import pytest

from verax.audit.errors import UsageError
from verax.audit.target import FunctionTarget, SourceTarget, needs_function, parse_target


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
            "target 'pkg.train': there is no such file or folder; for a module, name a function: "
            "pkg.train:function",
        ),
        ("a b", "target 'a b': write file.py:function or package.module:function"),
        ("", "target '': write file.py:function or package.module:function"),
    ],
)
def test_what_is_no_target(text: str, message: str):
    with pytest.raises(UsageError) as error:
        parse_target(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("train.py", "target 'train.py': name a function to audit, for now: train.py:step"),
        ("broken.py", "target 'broken.py': name a function to audit, for now"),
        ("src/", "target 'src/': name a function to audit, for now: src/file.py:function"),
    ],
)
def test_a_file_alone_asks_for_a_function(text: str, message: str):
    target = parse_target(text)
    assert isinstance(target, SourceTarget)
    assert str(needs_function(target)) == message
