"""No report verifies what it finds fault with, over all programs that we have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from verax.audit.report import Report
from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules
from verax.audit.run import audit_source
from verax.audit.source.analyse import audit_text
from verax.audit.source.engine import Options, audit_paths

EXAMPLES = Path(__file__).parents[3] / "examples"
RULES = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
TRACED = pytest.mark.parametrize(
    "rule", [it for it in all_rules() if it.trace], ids=lambda rule: rule.code
)
# These entries say something of all that was traced.
OF_ALL = {"AX001", "GR010", "RK001"}


@pytest.fixture(autouse=True)
def jax_as_it_comes() -> Iterator[None]:
    """Our suite forbids broadcasts between ranks; the programs of rules live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def check(report: Report, is_traced: bool = False) -> None:
    for entry in report.verified:
        assert entry.place is not None
        for finding in report.findings:
            places = [finding.place, *(it.place for it in finding.evidence if it.place)]
            is_there = (entry.place.file, entry.place.line) in {(it.file, it.line) for it in places}
            if finding.family == entry.family:
                assert not is_there, (entry, finding)
                assert not (is_traced and entry.code in OF_ALL), (entry, finding)


@TRACED
def test_a_trace_of_a_wrong_program(rule: Rule):
    check(audit_source(rule.wrong), is_traced=True)


@RULES
def test_a_trace_of_a_right_program(rule: Rule):
    check(audit_source(rule.right), is_traced=True)


@RULES
def test_what_is_read_in_the_programs_of_a_rule(rule: Rule):
    for text in (rule.wrong, rule.right):
        check(audit_text(text, "program"))


def test_what_is_read_in_the_examples():
    report = audit_paths([str(EXAMPLES)], Options(cache=False, sections=False))
    assert report.findings
    check(report)
