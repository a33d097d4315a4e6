"""Asking rules about facts, whichever engine gathered them.

A rule that fails is told as a failure of ours, and never ends an audit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..denials import undenied
from ..errors import described
from ..finding import Engine, Finding, Verified
from ..repetition import without_repetition
from ..report import Failure
from ._rule import Rule
from .explaining import without_explained
from .registry import all_rules


def judged(
    facts: Any, engine: Engine, rules: Iterable[Rule] | None = None, strict: bool = False
) -> dict[str, Any]:
    """What rules say of an engine's facts, as sections of a report: of all rules, or of some.

    With `strict`, a rule that fails raises: for our own tests.
    """
    issues: list[Finding] = []
    warnings: list[Finding] = []
    verified: list[Verified] = []
    failures: list[Failure] = []
    for rule in all_rules() if rules is None else rules:
        check = rule.trace if engine is Engine.TRACE else rule.source
        if check is None:
            continue
        try:
            verdicts = list(check(facts))
        except Exception as error:
            if strict:
                raise
            failures.append(Failure(f"rule {rule.code} failed: {described(error)}"))
            continue
        for verdict in verdicts:
            if not _is_established(facts, engine, rule, verdict):
                continue
            if isinstance(verdict, Verified):
                verified.append(verdict)
            else:
                (warnings if rule.warns else issues).append(verdict)
    return {
        "issues": without_explained(without_repetition(issues)),
        "verified": undenied(verified, (*issues, *warnings), engine is Engine.TRACE),
        "warnings": without_explained(without_repetition(warnings)),
        "failures": tuple(failures),
    }


def _is_established(facts: Any, engine: Engine, rule: Rule, verdict: Finding | Verified) -> bool:
    """Whether nothing that was not gone through could say otherwise.

    A trace goes through all, unless it raises.
    """
    if engine is Engine.TRACE:
        return not isinstance(verdict, Verified) or facts.traced.failure is None
    if isinstance(verdict, Verified):
        return facts.is_known(verdict.place)
    places = (verdict.place, *(it.place for it in verdict.evidence if it.place))
    return not rule.by_absence or all(facts.is_whole(it) for it in places)
