"""A report as one line a finding."""

from dataclasses import replace

from hypothesis import given

from verax.audit import Report
from verax.audit.render import to_concise

from .reports import reports
from .sample import ISSUE, REPORT


def test_each_finding_is_a_line():
    assert to_concise.render(replace(REPORT, notes=("one\nnote",))) == (
        "train.py:41:12: AX001 critical: Axes that mean different things meet\n"
        "train.py:50:1: JT004 minor (likely): Retraced at every call\n"
        "other,file.py:7:1: RK003 warning (likely): Key from a constant\n"
        "note: one note\n"
        "1 certain issue (1 critical), 1 likely issue (1 minor), 1 warning, 1 verified\n"
    )


def test_a_title_of_several_lines_is_one():
    report = Report("x", issues=(replace(ISSUE, title="one\ntwo"),))
    assert to_concise.render(report).count("\n") == 2


@given(reports)
def test_any_report_can_be_shown(report: Report):
    lines = to_concise.render(report).splitlines()
    assert len(lines) == len(report.findings) + len(report.notes) + 1
