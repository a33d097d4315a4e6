"""A report for coding assistants: three lines a finding."""

import json
import re
from dataclasses import replace

from hypothesis import given

from verax.audit import Place, Report
from verax.audit.finding import Edit
from verax.audit.render import to_agent

from .reports import reports
from .sample import COST, ISSUE, REPORT


def test_each_finding_is_three_lines():
    assert to_agent.render(replace(REPORT, notes=("one\nnote",))) == (
        "train.py:41:12: AX001 critical: Axes that mean different things meet, in step\n"
        "  why: `x + y` adds batch=8 to time=8 in params['w'][0], [bold]not markup[/bold] | "
        "expected: batch meets batch | "
        "because x is f32[batch=8,time=8] (train.py:12); <y> comes | from elsewhere\n"
        '  fix: "y = y.T\\nreturn x + y"\n'
        "train.py:50:1: JT004 minor (likely): Retraced at every call\n"
        "  why: a list of 100 % is passed\n"
        "  fix: pass an array\n"
        "other,file.py:7:1: RK003 warning (likely): Key from a constant\n"
        "  why: jax.random.key(0) inside of step | expected: the key is an argument\n"
        "  fix: none is known; `verax explain RK003` has a right program\n"
        "note: one note\n"
        "1 certain issue (1 critical), 1 likely issue (1 minor), 1 warning, 1 verified\n"
    )


def test_an_edit_is_quoted_to_the_letter():
    old, new = 'f(x,\n  "a")  ##[y]', "f(x)\tü"
    edited = replace(COST, edit=Edit(Place("train.py", 50, 9), old, new))
    *_, fix, _ = to_agent.render(Report("t", issues=(edited,))).splitlines()
    quoted = re.fullmatch(r'  fix: pass an array \| edit train.py:50:9 (".*") -> (".*")', fix)
    assert quoted is not None
    assert [json.loads(text) for text in quoted.groups()] == [old, new]


def test_what_is_long_is_cut_but_an_edit_is_never_half_there():
    finding = replace(
        ISSUE, current="word " * 999, edit=Edit(Place("train.py", 1), "x" * 999, "y" * 999)
    )
    text = to_agent.render(Report("t", issues=(finding,)))
    assert len(text) < 2000
    assert "…" in text
    assert "x" * 9 not in text
    assert "the edit is long: see --format json" in text


@given(reports)
def test_any_report_can_be_shown(report: Report):
    lines = to_agent.render(report).splitlines()
    assert len(lines) == 3 * len(report.findings) + len(report.notes) + 1
