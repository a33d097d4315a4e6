"""A report for code hosts: SARIF, and commands to GitHub's workflows."""

import json
from dataclasses import replace

from hypothesis import given

from verax.audit import Place, Report
from verax.audit.finding import Edit
from verax.audit.render import to_github, to_sarif

from .reports import reports
from .sample import ISSUE, REPORT


def test_github_shows_findings_beside_their_lines():
    error, warning, notice, note, summary = to_github.render(REPORT).splitlines()
    assert error == (
        "::error file=train.py,line=41,col=12,title=AX001 Axes that mean different things meet::"
        "`x + y` adds batch=8 to time=8 in params['w'][0], [bold]not markup[/bold]"
        "%0Aexpected: batch meets batch%0Afix: y = y.T%0Areturn x + y"
        "%0Abecause: x is f32[batch=8,time=8] (train.py:12)%0Abecause: <y> comes | from elsewhere"
    )
    assert warning.startswith("::warning file=train.py,line=50,col=1,title=JT004 ")
    assert warning.endswith("::a list of 100 %25 is passed%0Afix: pass an array")
    assert notice.startswith("::notice file=other%2Cfile.py,line=7,")
    assert note == "::notice::layers.py:3: `# verax: ignore[XX]`: there is no rule 'XX'"
    assert summary == (
        "train.py:step: 1 certain issue (1 critical), 1 likely issue (1 minor), 1 warning, "
        "1 verified"
    )


@given(reports)
def test_github_gets_one_command_a_finding_and_a_note(report: Report):
    lines = to_github.render(report).split("\n")[:-2]
    found, notes = lines[: len(report.findings)], lines[len(report.findings) :]
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in found)
    assert len(notes) == len(report.notes)
    assert all(line.startswith("::notice::") for line in notes)


def test_sarif_has_rules_results_and_the_way_there():
    log = json.loads(to_sarif.render(REPORT))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["AX001", "JT004", "RK003"]
    assert [result["level"] for result in run["results"]] == ["error", "warning", "note"]
    first = run["results"][0]
    assert first["ruleId"] == "AX001"
    assert first["message"]["text"].endswith(
        "Expected: batch meets batch\nFix: y = y.T\nreturn x + y"
    )
    assert first["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": "train.py"},
                "region": {"startLine": 41, "startColumn": 12},
            },
            "logicalLocations": [{"name": "step", "kind": "function"}],
        }
    ]
    (flow,) = first["codeFlows"][0]["threadFlows"]
    assert [step["location"]["message"]["text"] for step in flow["locations"]] == [
        "x is f32[batch=8,time=8]",
        "<y> comes | from elsewhere",
    ]
    notes = run["invocations"][0]["toolExecutionNotifications"]
    assert [note["message"]["text"] for note in notes] == list(REPORT.notes)


def test_sarif_names_files_by_uri():
    findings = tuple(
        replace(ISSUE, place=Place(file, 3)) for file in ("a b/ü.py", "/far away/x.py")
    )
    results = json.loads(to_sarif.render(Report("t", issues=findings)))["runs"][0]["results"]
    uris = [it["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for it in results]
    assert uris == ["a%20b/%C3%BC.py", "file:///far%20away/x.py"]


def test_sarif_says_what_an_edit_replaces():
    edit = Edit(Place("train.py", 3, 5), "scan(f,\n  x)", "scan(f, x, reverse=True)")
    log = json.loads(to_sarif.render(Report("t", issues=(replace(ISSUE, edit=edit),))))
    (fix,) = log["runs"][0]["results"][0]["fixes"]
    assert fix == {
        "description": {"text": ISSUE.fix},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": "train.py"},
                "replacements": [
                    {
                        "deletedRegion": {
                            "startLine": 3,
                            "startColumn": 5,
                            "endLine": 4,
                            "endColumn": 5,
                        },
                        "insertedContent": {"text": "scan(f, x, reverse=True)"},
                    }
                ],
            }
        ],
    }


def test_sarif_knows_a_finding_again_when_lines_were_added_above():
    def fingerprint(finding):
        log = json.loads(to_sarif.render(Report("t", issues=(finding,))))
        return log["runs"][0]["results"][0]["partialFingerprints"]

    moved = replace(ISSUE, place=replace(ISSUE.place, line=99))
    assert fingerprint(moved) == fingerprint(ISSUE)
    assert fingerprint(replace(ISSUE, code="AX002")) != fingerprint(ISSUE)


@given(reports)
def test_sarif_of_any_report_is_strict_json(report: Report):
    def refuse(word: str) -> None:
        raise AssertionError(word)

    log = json.loads(to_sarif.render(report), parse_constant=refuse)
    assert len(log["runs"][0]["results"]) == len(report.findings)
