"""`[tool.verax]` in pyproject.toml, and which findings to keep."""

from pathlib import Path

import pytest

from verax.audit import Report
from verax.audit.errors import UsageError
from verax.audit.rules import registry
from verax.audit.selection import Selection, parse_codes
from verax.audit.settings import Settings, read_settings

from .sample import REPORT, example_rule


def settings(folder: Path, text: str) -> Settings:
    (folder / "pyproject.toml").write_text(text)
    return read_settings(folder)


def test_settings_of_the_project(tmp_path: Path):
    text = "select = ['AX', 'RK']\nignore = 'AX001'\nfail-on = 'minor'\nformat = 'json'"
    expected = Settings(
        "pyproject.toml", ("AX", "RK"), ("AX001",), "minor", "json", folder=tmp_path
    )
    assert settings(tmp_path, f"[tool.verax]\n{text}") == expected


def test_settings_of_files(tmp_path: Path):
    text = "exclude = ['docs/', '*.py']\nbaseline = 'a/known.json'\nmax-file-size = 5_000"
    found = settings(tmp_path, f"[tool.verax]\n{text}")
    assert found.exclude == ("docs/", "*.py")
    assert (found.baseline, found.max_file_size) == ("a/known.json", 5000)
    assert found.folder == tmp_path


def test_settings_above_count(tmp_path: Path):
    settings(tmp_path, '[tool.verax]\nselect = ["AX"]')
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert read_settings(below).select == ("AX",)
    (below / "pyproject.toml").write_text("[project]")
    assert read_settings(below).select == ()


def test_no_settings(tmp_path: Path):
    assert settings(tmp_path, "[tool.other]\nx = 1").fail_on is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[tool.verax]\nselct = []",
            "pyproject.toml, [tool.verax]: there is no setting 'selct'; did you mean select?",
        ),
        (
            "[tool.verax]\nzzz = []",
            "pyproject.toml, [tool.verax]: there is no setting 'zzz'; there are select, ignore, "
            "preview, fail-on, format, exclude, baseline, max-file-size, allow-unread, "
            "trace-timeout",
        ),
        (
            "[tool.verax]\nselect = 3",
            "pyproject.toml, [tool.verax]: select is a list of codes, as in ['AX', 'RK001'], not 3",
        ),
        (
            "[tool.verax]\nexclude = [3]",
            "pyproject.toml, [tool.verax]: exclude is a list of patterns, as in ['docs/', "
            "'*_pb2.py'], not [3]",
        ),
        (
            "[tool.verax]\nbaseline = true",
            "pyproject.toml, [tool.verax]: baseline is the name of a file, not True",
        ),
        (
            "[tool.verax]\ntrace-timeout = 0",
            "pyproject.toml, [tool.verax]: trace-timeout is a number of seconds, not 0",
        ),
        (
            "[tool.verax]\nmax-file-size = '1 MB'",
            "pyproject.toml, [tool.verax]: max-file-size is a number of bytes, not '1 MB'",
        ),
        (
            "[tool.verax]\nfail-on = 'always'",
            "pyproject.toml, [tool.verax]: fail-on is one of certain, critical, error, minor, "
            "never, not 'always'",
        ),
        (
            "[tool.verax]\npreview = 'yes'",
            "pyproject.toml, [tool.verax]: preview is true or false, not 'yes'",
        ),
        (
            "[tool.verax]\nformat = 3",
            "pyproject.toml, [tool.verax]: format is one of text, concise, agent, json, markdown, "
            "html, sarif, github, not 3",
        ),
        ("[tool]\nverax = 3", "pyproject.toml, [tool.verax]: is not a table"),
        ("tool = 3", "pyproject.toml, [tool.verax]: is not a table"),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, text: str, message: str):
    with pytest.raises(UsageError) as error:
        settings(tmp_path, text)
    assert str(error.value) == message


def test_a_broken_file_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"^pyproject\.toml cannot be read: Expected '\]'"):
        settings(tmp_path, "[tool.verax")


def codes(report: Report) -> list[str]:
    return [it.code for it in (*report.findings, *report.verified)]


@pytest.mark.parametrize(
    ("select", "ignore", "kept"),
    [
        ((), (), ["AX001", "JT004", "RK003", "SC001"]),
        (("AX",), (), ["AX001"]),
        ((), ("AX", "SC"), ["JT004", "RK003"]),
        (("AX", "RK"), ("RK003",), ["AX001"]),
        # The more precise one wins.
        (("AX001", "RK"), ("AX",), ["AX001", "RK003"]),
        (("AX001",), ("AX001",), []),
    ],
)
def test_selection(select: tuple[str, ...], ignore: tuple[str, ...], kept: list[str]):
    report = Selection(select, ignore).apply(REPORT)
    assert codes(report) == kept
    assert report.data_flow == REPORT.data_flow


def test_codes_as_they_are_written(monkeypatch):
    monkeypatch.setattr(registry, "_RULES", (example_rule("RK001", "key-reused"),))
    assert parse_codes(["AX, RK001", "key-reused"], "--select") == ("AX", "RK001", "RK001")
    with pytest.raises(UsageError) as error:
        parse_codes(["AX,RK009"], "--select")
    assert str(error.value) == "--select: there is no rule 'RK009'; did you mean RK001?"
