"""A report as JSON: by the documented schema, strict, and with nothing lost."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from hypothesis import given

from verax.audit import Place, Report
from verax.audit.render import to_json
from verax.audit.render.from_json import from_data, from_json
from verax.audit.report import Crossing, Tensor
from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules
from verax.audit.run import audit_source

from .reports import check_schema, reports
from .sample import ISSUE, REPORT


@given(reports)
def test_what_is_written_is_read_again_and_follows_the_schema(report: Report):
    text = report.to_json()
    check_schema(text)
    assert from_json(text) == report


def test_an_issue_has_the_promised_fields():
    data = check_schema(REPORT.to_json())
    assert list(data) == [
        "schema",
        "target",
        "data_flow",
        "transformation_stack",
        "shape_trace",
        "issues",
        "verified",
        "warnings",
        "notes",
        "unfollowed",
        "unread",
        "failures",
        "compiled",
        "summary",
    ]
    assert data["issues"][0] == {
        "code": "AX001",
        "family": "axis",
        "severity": "critical",
        "confidence": "certain",
        "file": "train.py",
        "line": 41,
        "column": 12,
        "function": "step",
        "title": "Axes that mean different things meet",
        "current": ISSUE.current,
        "expected": "batch meets batch",
        "fix": "y = y.T\nreturn x + y",
        "engine": "trace",
        "evidence": [
            {
                "text": "x is f32[batch=8,time=8]",
                "place": {"file": "train.py", "line": 12, "column": 5, "function": "step"},
            },
            {"text": "<y> comes | from elsewhere", "place": None},
        ],
        "preview": False,
    }
    assert data["summary"] == {
        "text": "1 certain issue (1 critical), 1 likely issue (1 minor), 1 warning, 1 verified",
        "issues": 2,
        "warnings": 1,
        "verified": 1,
        "by_confidence": {"certain": 1, "likely": 1},
        "by_severity": {"critical": 1, "error": 0, "minor": 1},
        "by_family": {"axis": 1, "jit": 1},
        "worst": "critical",
    }


def test_a_report_without_anything_follows_the_schema():
    data = check_schema(Report("t").to_json())
    assert data["summary"]["text"] == "no issues, no warnings, 0 verified"
    assert data["summary"]["worst"] is None


@pytest.mark.parametrize(
    ("low", "written"),
    [
        (float("-inf"), "-inf"),
        (float("inf"), "inf"),
        (float("nan"), None),
        (2**64 - 1, 2**64 - 1),
        (np.float32(0.5), 0.5),
        (np.int8(-3), -3),
        (True, 1),
    ],
)
def test_any_bound_is_strict_json(low: float, written: object):
    tensor = Tensor("float32", (np.int64(3),), low=low)
    report = Report("t", shape_trace=(Crossing("b", None, "carry", "x", tensor, None),))
    found = check_schema(report.to_json())["shape_trace"][0]["before"]
    assert (found["low"], found["shape"]) == (written, [3])


def test_files_below_the_working_directory_are_relative(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outside = tmp_path.parent / "outside.py"
    inside = replace(ISSUE, place=Place(str(tmp_path / "sub" / "a.py"), 1), evidence=())
    other = replace(ISSUE, place=Place(str(outside), 1), evidence=())
    cell = replace(ISSUE, place=Place("<ipython-input-1>", 1), evidence=())
    report = Report("t", issues=(inside, other, cell))
    shown = [issue["file"] for issue in json.loads(report.to_json())["issues"]]
    assert shown == [str(Path("sub", "a.py")), str(outside), "<ipython-input-1>"]
    # Between processes nothing is shortened.
    assert from_data(to_json.as_data(report)) == report


@pytest.mark.parametrize("text", ['{"schema": "verax.report/2"}', "[]", "{}"])
def test_another_schema_is_refused(text: str):
    with pytest.raises(ValueError, match=r"^not a report of schema 'verax\.report/1'"):
        from_json(text)


TRACED = [rule for rule in all_rules() if rule.trace]


@pytest.mark.parametrize("rule", TRACED[::8], ids=lambda rule: rule.code)
def test_reports_of_real_programs_follow_the_schema(rule: Rule):
    with jax.numpy_rank_promotion("allow"):
        report = audit_source(rule.wrong, rule.name)
    data = check_schema(report.to_json())
    assert rule.code in {it["code"] for it in (*data["issues"], *data["warnings"])}
    assert from_data(to_json.as_data(report)) == report
