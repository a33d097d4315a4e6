"""Code that is known to be right gives no issue: our own, our examples, and correct idioms."""

from pathlib import Path

import pytest

from verax.audit.source.engine import Options, audit_paths

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
