"""`# verax: ignore[CODE] reason` in a finding's line."""

from dataclasses import replace
from pathlib import Path

import pytest

from verax.audit import Place, Report
from verax.audit.rules import registry
from verax.audit.suppressions import without_suppressed

from .sample import ISSUE, WARNING, example_rule


@pytest.fixture(autouse=True)
def known_rules(monkeypatch):
    rules = (example_rule("AX001", "axes-mixed"), example_rule("RK003", "key-constant"))
    monkeypatch.setattr(registry, "_RULES", rules)


def audited(path: Path, source: str, line: int = 1) -> Report:
    """A report with AX001 as an issue and RK003 as a warning in one line of a file."""
    path.write_text(source)
    place = Place(str(path), line)
    report = Report(
        "t", issues=(replace(ISSUE, place=place),), warnings=(replace(WARNING, place=place),)
    )
    return without_suppressed(report)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# verax: ignore[AX001] they are the same here", ["RK003"]),
        ("# verax: ignore[AX001, RK003] both", []),
        ("#verax:ignore[axes-mixed]", ["RK003"]),
        ("# noqa  # verax: ignore[prng] later", ["AX001"]),
        ("# verax: ignore[AX] all of them", ["RK003"]),
        ("# something else", ["AX001", "RK003"]),
    ],
)
def test_a_comment_suppresses_what_it_names(tmp_path: Path, comment: str, left: list[str]):
    report = audited(tmp_path / "a.py", f"x = 1  {comment}\n")
    assert codes(report) == left
    gone = 2 - len(left)
    expected = f"{gone} finding{'s' * (gone != 1)} suppressed by `# verax: ignore`"
    assert report.notes == ((expected,) if gone else ())


def test_only_comments_in_the_same_line_count(tmp_path: Path):
    source = "# verax: ignore[AX001]\nx = 1\ny = '# verax: ignore[AX001]'\n"
    assert "AX001" in codes(audited(tmp_path / "a.py", source, line=2))
    assert "AX001" in codes(audited(tmp_path / "b.py", source, line=3))


def test_an_unknown_code_is_noted(tmp_path: Path):
    path = tmp_path / "a.py"
    report = audited(path, "x = 1  # verax: ignore[AX010, RK003]\n")
    assert codes(report) == ["AX001"]
    assert report.notes[0] == (
        f"{path}:1: `# verax: ignore[AX010]`: there is no rule 'AX010'; did you mean AX001?"
    )


@pytest.mark.parametrize("comment", ["# verax: ignore", "# verax: ignore[]"])
def test_a_comment_without_a_code_suppresses_nothing(tmp_path: Path, comment: str):
    path = tmp_path / "a.py"
    report = audited(path, f"x = 1  {comment}\n")
    assert codes(report) == ["AX001", "RK003"]
    assert report.notes == (
        f"{path}:1: `# verax: ignore` names no code and suppresses nothing; "
        "write `# verax: ignore[CODE] reason`",
    )


def test_a_changed_file_is_read_again(tmp_path: Path):
    path = tmp_path / "a.py"
    assert "AX001" in codes(audited(path, "x = 1\n"))
    assert "AX001" not in codes(audited(path, "x = 1  # verax: ignore[AX001]\n"))


@pytest.mark.parametrize("source", ["x = (  # verax: ignore[AX001]\n", "\0", "\xff"])
def test_a_broken_file_does_not_break_the_audit(tmp_path: Path, source: str):
    path = tmp_path / "a.py"
    path.write_bytes(source.encode("latin-1"))
    report = Report("t", issues=(replace(ISSUE, place=Place(str(path), 1)),))
    assert len(without_suppressed(report).issues) == ("ignore" not in source)
    cell = Report("t", issues=(replace(ISSUE, place=Place("<cell 3>", 1)),))
    assert without_suppressed(cell) == cell
