"""The rules themselves: one explained, or all of them as a list or a page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from ..rules._rule import FAMILIES, Rule


def explain(rule: Rule) -> str:
    """Everything about one rule, as text that is also Markdown."""
    answer = f"`# verax: ignore[{rule.code}] reason` in its line answers a finding that is fine"
    return "\n".join((*_rule(rule, level=1), f"\n{answer}.")) + "\n"


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
    return json.dumps([_data(rule) for rule in rules], indent=2) + "\n"


def to_markdown(rules: Iterable[Rule]) -> str:
    """A page: a table of all rules, then each explained, by family."""
    listed = tuple(rules)
    lines = ["| code | name | severity | what it finds |", "| --- | --- | --- | --- |"]
    for rule in listed:
        cells = (f"[{rule.code}](#{_anchor(rule)})", rule.name, _weight(rule), _title(rule))
        lines.append(f"| {' | '.join(cells)} |")
    for family in FAMILIES:
        own = [rule for rule in listed if rule.family == family]
        if own:
            lines += ["", f"## {family}"]
        for rule in own:
            lines += ["", *_rule(rule, level=3)]
    return "\n".join(lines) + "\n"


def _rule(rule: Rule, level: int) -> Iterator[str]:
    yield f"{'#' * level} {rule.code} {rule.name}"
    yield f"\n{rule.title}."
    yield f"\n*{rule.family}, {_weight(rule)}, {rule.confidence}{_engines(rule)}*"
    yield f"\n{rule.explanation.strip()}"
    yield f"\nWrong:\n\n```py\n{rule.wrong.strip()}\n```"
    yield f"\nRight:\n\n```py\n{rule.right.strip()}\n```"


def _engines(rule: Rule) -> str:
    by = {"reading": rule.source, "tracing": rule.trace}
    names = [name for name, check in by.items() if check is not None]
    return f"; found by {' and '.join(names)}" if names else ""


def _weight(rule: Rule) -> str:
    return "warning" if rule.warns else str(rule.severity)


def _title(rule: Rule) -> str:
    return rule.title.replace("|", "\\|")


def _anchor(rule: Rule) -> str:
    """The anchor that a heading of this rule gets."""
    return f"{rule.code} {rule.name}".lower().replace(" ", "-")


def _data(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "title": rule.title,
        "family": rule.family,
        "severity": rule.severity.value,
        "confidence": rule.confidence.value,
        "warns": rule.warns,
        "engines": [engine for engine in ("trace", "source") if getattr(rule, engine) is not None],
        "explanation": rule.explanation.strip(),
        "wrong": rule.wrong.strip(),
        "right": rule.right.strip(),
    }
