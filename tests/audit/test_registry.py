"""Every rule is listed, documented, and does what its documentation says."""

import re
from collections.abc import Iterator

import jax
import pytest

from verax.audit.rules import registry
from verax.audit.rules._rule import FAMILIES, Rule
from verax.audit.rules.registry import UnknownRuleError, all_rules, code_prefix, find
from verax.audit.run import audit_source
from verax.audit.source.analyse import audit_text

from .sample import example_rule

RULES = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@pytest.fixture(autouse=True)
def jax_as_it_comes() -> Iterator[None]:
    """Our suite forbids broadcasts between ranks; the programs of rules live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def test_codes_and_names_are_unique_and_in_order():
    codes = [rule.code for rule in all_rules()]
    names = [rule.name for rule in all_rules()]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)
    families = list(FAMILIES.values())
    assert codes == sorted(codes, key=lambda code: (families.index(code[:2]), code))


@RULES
def test_a_rule_is_documented(rule: Rule):
    assert re.fullmatch(rf"{FAMILIES[rule.family]}\d{{3}}", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.title
    assert not rule.title.endswith(".")
    assert len(rule.explanation.split()) >= 10
    assert rule.trace or rule.source


TRACED = pytest.mark.parametrize(
    "rule", [rule for rule in all_rules() if rule.trace], ids=lambda rule: rule.code
)


@TRACED
def test_a_rule_finds_its_wrong_program(rule: Rule):
    report = audit_source(rule.wrong, f"{rule.name}_wrong")
    found = report.warnings if rule.warns else report.issues
    assert rule.code in {finding.code for finding in found}, str(report)


@RULES
def test_a_rule_is_silent_on_its_right_program(rule: Rule):
    report = audit_source(rule.right, f"{rule.name}_right")
    assert rule.code not in {finding.code for finding in report.findings}, str(report)


READ = pytest.mark.parametrize(
    "rule", [rule for rule in all_rules() if rule.source], ids=lambda rule: rule.code
)


@READ
def test_a_rule_finds_its_wrong_program_by_reading_it(rule: Rule):
    report = audit_text(rule.wrong, f"{rule.name}_wrong", strict=True)
    found = report.warnings if rule.warns else report.issues
    assert rule.code in {finding.code for finding in found}, str(report)


@RULES
def test_reading_the_right_program_of_a_rule_finds_nothing(rule: Rule):
    report = audit_text(rule.right, f"{rule.name}_right", strict=True)
    assert not report.issues, str(report)


@pytest.fixture
def two_rules(monkeypatch) -> tuple[Rule, Rule]:
    rules = (example_rule("AX001", "axes-mixed"), example_rule("RK001", "key-reused"))
    monkeypatch.setattr(registry, "_RULES", rules)
    return rules


def test_a_rule_is_found_by_code_and_by_name(two_rules):
    assert find("AX001") is find("ax001") is find(" axes-mixed ") is two_rules[0]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("AX002", "there is no rule 'AX002'; did you mean AX001?"),
        ("key-resued", "there is no rule 'key-resued'; did you mean key-reused?"),
        ("???", "there is no rule '???'; see `verax rules`"),
    ],
)
def test_an_unknown_rule_suggests_close_ones(two_rules, wanted: str, message: str):
    with pytest.raises(UnknownRuleError) as error:
        find(wanted)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("selector", "prefix"),
    [
        ("AX001", "AX001"),
        ("ax0", "AX0"),
        ("RK", "RK"),
        ("SC", "SC"),
        ("key-reused", "RK001"),
        ("prng", "RK"),
        ("Axis", "AX"),
    ],
)
def test_a_selector_is_a_code_or_its_beginning_or_a_name(two_rules, selector: str, prefix: str):
    assert code_prefix(selector) == prefix


def test_an_empty_selector_selects_nothing(two_rules):
    with pytest.raises(UnknownRuleError, match="there is no rule ''"):
        code_prefix("")
