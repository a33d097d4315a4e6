"""Findings about declared axis names that meet, shared by the families in which they can."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ...finding import Finding
from .._rule import Rule
from ._paths import path_of

if TYPE_CHECKING:
    from ...trace.axes.axis import Clash
    from ...trace.facts import Facts

_HOW = {
    "elementwise": "are combined element by element",
    "contraction": "are summed against each other in a product",
    "concatenation": "lie side by side in a concatenation",
    "update": "meet where one array is written into another",
    "branch": "are what two branches return for the same result",
    "declared": "are the same axis of one array, by its declaration here",
    "mapped": "are mapped together by one vmap",
    "scanned": "are scanned together",
    "carry": "are the same axis of a loop's carry",
}


def clashes_at(
    facts: Facts, rule: Rule, kinds: set[str], expected: str, fix: str
) -> Iterator[Finding]:
    """A finding for each place where names of these kinds meet; one a line of code."""
    from ...trace.describe import tensor_of

    said: set[Any] = set()
    for clash in facts.axes.clashes:
        if clash.where not in kinds:
            continue
        place = (clash.step and clash.step.place) or facts.traced.place
        if place is None or (place.file, place.line) in said:
            continue
        said.add((place.file, place.line))
        one, other = clash.first_name, clash.second_name
        tensors = (tensor_of(facts, it.value) for it in (clash.first, clash.second))
        shapes = " and ".join(dict.fromkeys(map(str, tensors)))
        yield rule.finding(
            place,
            current=f"axes {one} and {other} {_HOW[clash.where]}: {shapes}",
            expected=expected.format(one=one, other=other),
            fix=fix.format(one=one, other=other),
            evidence=_both_paths(facts, clash),
        )


def _both_paths(facts: Facts, clash: Clash) -> Any:
    first = path_of(facts, clash.first, clash.first_name)
    if clash.where == "declared":
        return first
    second = path_of(facts, clash.second, clash.second_name)
    return (*first, *(step for step in second if step not in first))
