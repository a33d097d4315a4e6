"""The rules themselves: one explained, or all of them as a list or a page.

What stands here of a rule's record is computed from the judgements in `record.json`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import record
from ..finding import Confidence, Engine
from ..record import Record
from ..rules._rule import FAMILIES, Rule


def explain(rule: Rule) -> str:
    """Everything about one rule, as text that is also Markdown."""
    how = f"To suppress a finding, write `# verax: ignore[{rule.code}] reason` on its line"
    return "\n".join((*_rule(rule, 1, _records((rule,))), f"\n{how}.")) + "\n"


def _records(rules: tuple[Rule, ...]) -> Mapping[str, Record]:
    return record.records(record.read(), rules)


def to_text(rules: Iterable[Rule]) -> str:
    """A line a rule."""
    shown = [(rule.code, rule.name, _weight(rule), rule.title) for rule in rules]
    if not shown:
        return "there are no rules yet\n"
    widths = [max(len(row[at]) for row in shown) for at in range(3)]
    return "".join(
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]))
        + "\n"
        for row in shown
    )


def to_json(rules: Iterable[Rule]) -> str:
    """All that is known of each rule."""
    listed = tuple(rules)
    known = _records(listed)
    return json.dumps([_data(rule, known[rule.code]) for rule in listed], indent=2) + "\n"


def to_markdown(rules: Iterable[Rule]) -> str:
    """A page: a table of all rules, then each explained, by family."""
    listed = tuple(rules)
    known = _records(listed)
    lines = ["| code | name | severity | what it finds |", "| --- | --- | --- | --- |"]
    for rule in listed:
        cells = (f"[{rule.code}](#{_anchor(rule)})", rule.name, _weight(rule), _title(rule))
        lines.append(f"| {' | '.join(cells)} |")
    for family in FAMILIES:
        own = [rule for rule in listed if rule.family == family]
        if own:
            lines += ["", f"## {family}"]
        for rule in own:
            lines += ["", *_rule(rule, 3, known)]
    return "\n".join(lines) + "\n"


def _rule(rule: Rule, level: int, known: Mapping[str, Record]) -> Iterator[str]:
    yield f"{'#' * level} {rule.code} {rule.name}"
    yield f"\n{rule.title}."
    yield f"\n*{rule.family}, {_weight(rule)}{_engines(rule)}*"
    yield f"\n{rule.explanation.strip()}"
    yield f"\nOn record: {known[rule.code]}."
    if rule.exact:
        yield f"\nA traced finding is exact: {rule.exact}."
    if rule.preview:
        but = ", except for what a trace establishes" if rule.exact else ""
        yield f"\nIn preview, because it has been wrong: silent without `--preview`{but}."
    yield f"\nWrong:\n\n```py\n{rule.wrong.strip()}\n```"
    yield f"\nRight:\n\n```py\n{rule.right.strip()}\n```"


def _engines(rule: Rule) -> str:
    words = {Engine.SOURCE: "by static analysis", Engine.TRACE: "in a trace"}
    said = [f"{words[it]} ({_confidence(rule, it)})" for it in _asked(rule)]
    return f"; found {' and '.join(said)}" if said else ""


def _asked(rule: Rule) -> list[Engine]:
    """The engines that the rule has a check for."""
    return [engine for engine in Engine if getattr(rule, engine) is not None]


def _confidence(rule: Rule, *engines: Engine) -> Confidence:
    """How certain a finding of one of the engines can be."""
    certain = any(map(rule.may_be_certain, engines))
    return rule.confidence if certain else Confidence.LIKELY


def _weight(rule: Rule) -> str:
    weight = "warning" if rule.warns else str(rule.severity)
    return f"{weight} (preview)" if rule.preview else weight


def _title(rule: Rule) -> str:
    return rule.title.replace("|", "\\|")


def _anchor(rule: Rule) -> str:
    """The anchor that a heading of this rule gets."""
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def _data(rule: Rule, known: Record) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "title": rule.title,
        "family": rule.family,
        "severity": rule.severity.value,
        "confidence": _confidence(rule, *_asked(rule)).value,
        "warns": rule.warns,
        "preview": rule.preview,
        "record": dataclasses.asdict(known),
        "engines": [engine.value for engine in _asked(rule)],
        "explanation": rule.explanation.strip(),
        "wrong": rule.wrong.strip(),
        "right": rule.right.strip(),
    }
