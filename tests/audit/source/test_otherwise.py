"""What is found in a program is found in it, too, when it is written otherwise."""

from __future__ import annotations

from functools import cache
from types import ModuleType

import jax
import numpy as np
import pytest

from verax.audit.rules._rule import Rule
from verax.audit.rules.registry import all_rules, find
from verax.audit.source.analyse import audit_text

from .otherwise import control, idioms, inert, packing, places, spelling, steps
from .otherwise.rewriting import NotRewrittenError, Rewriting, Rewritten, rewrite

REWRITINGS: dict[str, Rewriting] = {
    name: function
    for module in (spelling, idioms, steps, places, packing, control, inert)
    for name, function in vars(module).items()
    if getattr(function, "__module__", "") == module.__name__ and name[0].islower()
    if not isinstance(function, type)
}
RULES = [rule for rule in all_rules() if rule.source is not None]

# What the engine does not see yet, by rewriting. Whoever widens a rule takes its code away here.
UNSEEN = {
    "as_arrays": "DF122",
    "behind_barriers": "DF122",
    "by_imported_names": "DF117",
    "by_keywords": "DF121",
    "decorators_called": "JT108",
    "entry_delegates": "PT203",
    "in_helpers": "DF117 DF121 DF122 AX016 VM009 GR014",
    "in_named_scopes": "PT101",
    "in_two_halves": "DF121 DF126 JT106 GR015 EN023",
    "inlined": "DF119 DF121 VM003 EN004 EN019 EN023",
    "literals_in_a_class": "SC301 VM003 EN011 EN015",
    "named_where_used": "JT106",
    "one_call_a_line": "DF117",
    "parameters_in_dicts": "DF121 GR019",
    "parameters_in_records": "DF121 GR019",
    "partial_helpers": "DF121",
    "through_identity": "DF122",
    "through_records": "DF122",
    "through_tuples": "DF122",
    "wrapped_by_decorators": "DF117 DF121",
}


def _lines(rule: Rule, program: str) -> set[int]:
    # What the other rules say of it is as many times the work, and not what is asked.
    findings = audit_text(program, strict=True, rules=(rule,)).findings
    return {it.place.line for it in findings if it.code == rule.code}


def _rewritten(program: str, rewriting: str) -> Rewritten | None:
    try:
        return rewrite(program, REWRITINGS[rewriting])
    except NotRewrittenError:
        return None


@pytest.fixture(scope="module")
def lines() -> dict[str, set[int]]:
    """Where each rule finds its wrong program wrong."""
    return {rule.code: _lines(rule, rule.wrong) for rule in RULES}


@pytest.mark.parametrize("rewriting", sorted(REWRITINGS))
def test_a_wrong_program_is_wrong_at_the_same_place(rewriting: str, lines: dict[str, set[int]]):
    unseen: list[str] = []
    for rule in RULES:
        other = _rewritten(rule.wrong, rewriting)
        if other is not None:
            there = {new for line in lines[rule.code] for new in other.lines.get(line, ())}
            if not there & _lines(rule, other.text):
                unseen.append(rule.code)
    assert unseen == UNSEEN.get(rewriting, "").split()


@pytest.mark.parametrize("rewriting", sorted(REWRITINGS))
def test_a_right_program_stays_right(rewriting: str):
    for rule in RULES:
        other = _rewritten(rule.right, rewriting)
        assert other is None or not _lines(rule, other.text), other.text


@pytest.mark.parametrize("rewriting", sorted(REWRITINGS))
def test_other_words_compute_the_same(rewriting: str):
    done = 0
    for code in ("GR014", "SC002", "EN009", "RK004", "DF101", "JT201", "GR016"):
        program = find(code).right
        other = _rewritten(program, rewriting)
        if other is not None:
            done += 1
            for before, after in zip(_plain_results(program), _results(other.text), strict=True):
                np.testing.assert_allclose(before, after, rtol=1e-5, atol=1e-6)
    assert done


def _results(program: str) -> list[np.ndarray]:
    module = ModuleType("program")
    exec(compile(program, "program", "exec"), module.__dict__)
    with jax.numpy_rank_promotion("allow"):
        return [np.asarray(leaf) for leaf in jax.tree.leaves(module.entry(*module.inputs()))]


_plain_results = cache(_results)  # They are compared with those of each rewriting.
