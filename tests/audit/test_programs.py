"""The guard of real programs: what is pinned stays recognised, and every difference is shown."""

from dataclasses import replace
from pathlib import Path

import pytest

from verax.audit import Place, Report, Verified

from .programs.guard.defects import Defect, codes_added, read_defects, write_found
from .programs.guard.pins import differences, entries_of, pinned_again
from .sample import ISSUE, WARNING


@pytest.fixture
def report(tmp_path: Path) -> Report:
    file = tmp_path / "program.py"
    file.write_text("a = f(x)\nb = f(x)\nb = f(x)\n")
    issue, twice, warning = (
        replace(it, place=Place(str(file), line, function="step"))
        for it, line in ((ISSUE, 2), (ISSUE, 3), (WARNING, 1))
    )
    claims = [
        Verified("SC002", "scan", "scan at line 37: carry is updated", "", issue.place),
        Verified("RK001", "prng", "2 random draws in lines 3, 4 and 7", ""),
    ]
    return Report("t", issues=(issue, twice), warnings=(warning,), verified=tuple(claims))


def test_entries_have_keys_without_line_numbers(report: Report):
    found = entries_of(report)
    assert [*found.findings] == [
        "RK003 step: a = f(x)",
        "AX001 step: b = f(x)",
        "AX001 step: b = f(x) #2",
    ]
    assert [*found.verified] == [
        "RK001 : 2 random draws in this line",
        "SC002 step: scan at this line: carry is updated",
    ]


def test_lines_above_change_no_key(report: Report):
    file = Path(report.issues[0].place.file)
    before = entries_of(report)
    file.write_text("# one more line\n" + file.read_text())

    def below(place: Place) -> Place:
        return replace(place, line=place.line + 1)

    moved = replace(
        report,
        issues=tuple(replace(it, place=below(it.place)) for it in report.issues),
        warnings=tuple(replace(it, place=below(it.place)) for it in report.warnings),
    )
    after = entries_of(moved)
    assert after.findings.keys() == before.findings.keys()
    assert after.findings != before.findings


def test_what_is_not_as_it_is_known_to_be_is_listed(report: Report):
    found = entries_of(report)
    known = pinned_again(found, {})
    assert all(line.startswith("? p: unread ") for line in differences("p", found, known))
    known["findings"] = {
        "RK003 step: a = f(x)": "harmless: on purpose",
        "AX001 step: b = f(x)": "false: they are equal",
        "AX001 step: c = f(x)": "true: mixed",
    }
    known["verified"] = dict.fromkeys(known["verified"], "true")
    assert [line[:35] for line in differences("p", found, known)] == [
        "- p: finding AX001 step: c = f(x) (",
        "! p: finding AX001 program.py:2 `x ",
        "+ p: finding AX001 program.py:3 `x ",
    ]


def test_a_false_finding_of_a_rule_in_preview_is_known_to_be_one(report: Report):
    issues = tuple(replace(it, preview=True) for it in report.issues)
    found = entries_of(replace(report, issues=issues))
    known = {section: dict.fromkeys(getattr(found, section), "true") for section in vars(found)}
    known["findings"]["AX001 step: b = f(x)"] = "false: they are equal"
    assert not [*differences("p", found, known)]


def test_judgements_stay_with_what_is_still_reported(report: Report):
    known = {"findings": {"AX001 step: b = f(x)": "true: mixed", "AX001 step: gone": "false"}}
    assert pinned_again(entries_of(report), known)["findings"] == {
        "RK003 step: a = f(x)": "unread",
        "AX001 step: b = f(x)": "true: mixed",
        "AX001 step: b = f(x) #2": "unread",
    }


def test_of_a_defect_only_what_it_adds_counts(report: Report):
    before = entries_of(report)
    changed = replace(report.issues[0], place=replace(report.issues[0].place, line=1))
    moved = replace(report, issues=(changed, report.issues[1]))
    assert codes_added(before, entries_of(moved)) == {}
    added = codes_added(before, entries_of(replace(report, issues=(changed, *report.issues))))
    assert {code: [it.key for it in found] for code, found in added.items()} == {
        "AX001": ["AX001 step: a = f(x)"]
    }


DEFECTS = """\
# How it breaks.
[[defect]]
what = "noise is the same"
family = "prng"
old = "split(key)"
new = "key, key"
found = []

[[defect]]
what = "no [mask]"
family = "env"
also = ["scan"]
old = '''* (1 - done)'''
new = ""
found = [
  "EN002",
]
"""


def test_the_file_of_defects_learns_what_is_found_and_keeps_all_else(tmp_path: Path):
    file = tmp_path / "p.toml"
    file.write_text(DEFECTS)
    write_found(file, [["RK001", "RK002"], []])
    first, second = read_defects(file)
    assert (first.found, second.found) == (("RK001", "RK002"), ())
    assert second == Defect("no [mask]", "env", "* (1 - done)", "", (), ("scan",))
    write_found(file, [[], ["EN002"]])
    assert file.read_text() == DEFECTS.replace('[\n  "EN002",\n]', '["EN002"]')
    assert read_defects(tmp_path / "none.toml") == ()


@pytest.mark.parametrize(("text", "count"), [("b", 0), ("a + a", 2)])
def test_a_defect_replaces_what_occurs_once(text: str, count: int):
    defect = Defect("a is gone", "env", "a", "", ())
    assert defect.applied("1 + a") == "1 + "
    with pytest.raises(ValueError, match=f"what the defect 'a is gone' replaces occurs {count}"):
        defect.applied(text)
