"""What the record of judgements means for each rule, and that the rules say so."""

from dataclasses import replace
from pathlib import Path

import pytest

from verax.audit import Confidence, Engine, Place, Report, Severity, record
from verax.audit.in_tests import is_test_file, reuse_in_tests_warns
from verax.audit.record import Record, Verdict, records, verdict_of
from verax.audit.repetition import in_order
from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules

from .sample import COST, ISSUE, example_rule

DATA = record.read()
RECORDS = records(DATA, all_rules())
RULES = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@RULES
def test_the_record_decides_which_rules_are_in_preview(rule: Rule):
    known = RECORDS[rule.code]
    assert rule.preview == known.is_preview, f"on record: {known}"


@RULES
def test_the_record_decides_which_rules_are_proven(rule: Rule):
    """A rule that is proven for nothing, since no finding is certain, need not say so."""
    known = RECORDS[rule.code]
    says_certain = rule.confidence is Confidence.CERTAIN
    assert rule.proven == (known.is_proven and says_certain), f"on record: {known}"


def test_every_judgement_is_of_a_rule_that_exists():
    codes = {rule.code for rule in all_rules()}
    for name, part in (*DATA["packages"].items(), *DATA["programs"].items()):
        assert part["lines"] > 0, name
        for key, judgement in (*part["findings"].items(), *part.get("verified", {}).items()):
            assert key.partition(" ")[0] in codes, f"{name}: {key}"
            verdict_of(judgement)


@pytest.mark.parametrize(
    ("true", "false", "preview", "proven"),
    [
        (0, 0, False, False),
        (4, 0, False, False),
        (5, 0, False, True),
        (0, 1, True, False),
        (8, 1, True, False),
        (9, 1, False, False),
        (27, 3, False, False),
        (26, 3, True, False),
    ],
)
def test_what_a_record_means(true: int, false: int, preview: bool, proven: bool):
    known = Record(true, 7, false, 1000)
    assert (known.is_preview, known.is_proven) == (preview, proven)


def test_a_record_counts_what_was_read():
    read = replace(example_rule("AX001", "read"), source=iter)
    traced = replace(example_rule("RK001", "traced"), trace=iter)
    warns = replace(example_rule("SC001", "warns"), source=iter, warns=True)
    data = {
        "packages": {
            "p": {"lines": 1000, "findings": {"AX001 a.py:1": "true", "AX001 a.py:2": "false: x"}}
        },
        "programs": {
            "q": {
                "lines": 50,
                "findings": {"AX001 f: x": "harmless", "RK001 f: y": "unread"},
                "verified": {"AX001 f: a claim": "false"},
            }
        },
    }
    assert records(data, (read, traced, warns)) == {
        "AX001": Record(1, 1, 1, 1050),
        "RK001": Record(0, 0, 0, 50),
        "SC001": Record(0, 0, 0, 50),
    }


def test_a_judgement_begins_with_a_verdict():
    assert verdict_of("harmless: the same noise: on purpose") is Verdict.HARMLESS
    with pytest.raises(ValueError, match="fine"):
        verdict_of("fine: as it is")


@pytest.mark.parametrize(
    ("exact", "proven", "engine", "said"),
    [
        ("", False, Engine.TRACE, Confidence.LIKELY),
        ("", False, Engine.SOURCE, Confidence.LIKELY),
        ("it is seen", False, Engine.TRACE, Confidence.CERTAIN),
        ("it is seen", False, Engine.SOURCE, Confidence.LIKELY),
        ("", True, Engine.SOURCE, Confidence.CERTAIN),
        ("", True, Engine.TRACE, Confidence.CERTAIN),
    ],
)
def test_only_what_is_backed_is_certain(exact: str, proven: bool, engine: Engine, said: Confidence):
    rule = replace(example_rule("AX001", "a"), exact=exact, proven=proven)
    words = {"current": "", "expected": "", "fix": "", "engine": engine}
    place = Place("a.py", 1)
    assert rule.finding(place, **words).confidence is said
    assert rule.finding(place, **words, confidence=Confidence.CERTAIN).confidence is said
    assert rule.finding(place, **words, confidence=Confidence.LIKELY).confidence == "likely"


@RULES
def test_a_rule_is_exact_only_where_it_traces(rule: Rule):
    assert not rule.exact or rule.trace is not None
    assert not rule.exact.endswith(".")


def test_certain_findings_come_first_and_then_the_gravest():
    likely = replace(ISSUE, confidence=Confidence.LIKELY, place=Place("a.py", 1))
    error = replace(ISSUE, severity=Severity.ERROR, place=Place("a.py", 1))
    late, early = (replace(ISSUE, place=Place("b.py", line)) for line in (9, 2))
    assert in_order([COST, likely, error, late, early]) == (early, late, error, likely, COST)


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("train.py", False),
        ("src/attest/latest.py", False),
        ("src/my_tests_of_time/contest.py", False),
        ("testing.py", False),
        ("test_train.py", True),
        ("src/train_test.py", True),
        ("conftest.py", True),
        ("tests/train.py", True),
        ("src/test/deep/train.py", True),
        ("pkg/testing/train.py", True),
    ],
)
def test_which_files_are_tests(path: str, is_test: bool):
    assert is_test_file(path) == is_test


def test_keys_that_are_reused_in_tests_are_warnings(tmp_path: Path, monkeypatch):
    project = tmp_path / "tests" / "project"  # says nothing of what lies in it
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    reused, other = (
        replace(ISSUE, code="RK001", family="prng", place=Place(str(project / name), 1))
        for name in ("test_a.py", "a.py")
    )
    mixed = replace(ISSUE, place=Place("test_a.py", 1))
    warned = reuse_in_tests_warns(Report("t", issues=(reused, other, mixed), warnings=(COST,)))
    assert warned.issues == (other, mixed)
    assert warned.warnings == (reused, COST)
