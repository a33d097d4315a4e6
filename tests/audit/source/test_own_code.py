"""Code that is known to be right gives no issue: our own, our examples, and correct idioms."""

from pathlib import Path

import pytest

from verax.audit.source.analyse import analyse
from verax.audit.source.engine import Options, audit_paths
from verax.audit.source.project import Project

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    "folder",
    [
        "src/verax",
        "examples/md",
        "examples/growing_buffers.py",
        "tests/audit/programs",
        "tests/audit/rules/test_silence.py",
    ],
)
def test_right_code_gives_no_issue(folder: str):
    report = audit_paths([str(ROOT / folder)], Options(cache=False))
    assert not report.issues, report.to_markdown()
    assert not [note for note in report.notes if "failed" in note]


def test_what_a_file_tells_does_not_depend_on_what_was_read_before_it():
    folder = ROOT / "src" / "verax" / "runtime"
    files = sorted(str(path) for path in folder.glob("*.py"))
    roots = [str(ROOT / "src")]
    alone = {file: analyse(file, Project(roots)) for file in files}
    shared = Project(roots)
    together = {file: analyse(file, shared) for file in reversed(files)}
    assert len(files) > 5
    for file in files:
        assert together[file] == alone[file], file
