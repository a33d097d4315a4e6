"""What annotations of results say, held against what functions return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding
from ...source.queries.arrays import array_in_words
from ...source.text import text_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Fact
    from ...source.facts import SourceFacts


def returned_otherwise(rule: Rule, facts: SourceFacts, fact: Fact, fix: str) -> Finding:
    """A result has other axes than its annotation says."""
    annotation = fact.data["annotation"]
    wanted, there = fact.data["problem"]
    return rule.finding(
        fact.place,
        current=f"{array_in_words(facts, fact.data['value'])} is returned, with {there} where the "
        f"annotation says {wanted}",
        expected=f"what the function returns is `{text_of(annotation)}`",
        fix=fix,
        evidence=(Evidence("the annotation", fact.frame.place(annotation)),),
        engine=Engine.SOURCE,
    )
