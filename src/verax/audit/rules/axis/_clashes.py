"""Findings about declared axis names that meet, shared by the families in which they can."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...finding import Evidence, Finding, Place
from ...source.events import Fact
from ...source.queries.arrays import arrays_in_words, made_here, names_are_refuted
from ...source.queries.layouts import settled_with
from ...source.queries.placing import placed_at
from .._rule import Rule
from ._paths import path_of

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.axes.axis import Clash
    from ...trace.facts import Facts

# What functions do with axes that they take to be one.
_KIND_OF = {
    **dict.fromkeys(
        "dot matmul einsum tensordot vdot inner vecdot dot_general".split(), "contraction"
    ),
    **dict.fromkeys("concatenate stack hstack vstack append".split(), "concatenation"),
    **dict.fromkeys("set add dynamic_update_slice".split(), "update"),
    "axes": "declared",
}
_HOW = {
    "elementwise": "are combined element by element",
    "contraction": "are summed against each other in a product",
    "concatenation": "lie side by side in a concatenation",
    "update": "meet where one array is written into another",
    "indexed": "meet in an index: the first is looked up by a count of the second",
    "branch": "are what two branches return for the same result",
    "declared": "are the same axis of one array, by its declaration here",
    "mapped": "are mapped together by one vmap",
    "scanned": "are scanned together",
    "carry": "are the same axis of a loop's carry",
}
# Meetings of axes that got there on ways of their own.
_PLACED = frozenset(("elementwise", "contraction", "concatenation", "update", "branch"))
_MEET = "there the axes meet"


def _meet_later(kind: str, place: Place, cause: Place) -> str:
    """How axes meet, told at the place which decides that they do."""
    return f"{_HOW[kind]} in {place.line_from(cause)}, after what is decided here"


@dataclass(frozen=True)
class Read:
    """Names that meet in a program that was read."""

    place: Place
    names: tuple[str, str]
    how: str
    arrays: str
    evidence: tuple[Evidence, ...]


def clashes_read(facts: SourceFacts) -> Iterator[Read]:
    """Each place where names meet, or where that was decided; one a line of code."""
    said: set[tuple[str, int]] = set()
    settled: set[Fact] = set()
    for fact in facts.events(Fact):
        if fact.kind != "clash" or (fact.place.file, fact.place.line) in said or fact in settled:
            continue
        if names_are_refuted(facts, fact.frame):
            continue
        said.add((fact.place.file, fact.place.line))
        settled |= settled_with(facts, fact)
        where: str = fact.data["where"]
        kind = where if where in _HOW else _KIND_OF.get(where.rpartition(".")[2], "elementwise")
        operands = fact.data["operands"]
        evidence, cause = made_here(facts, operands), placed_at(facts, fact)
        yield Read(
            cause or fact.place,
            fact.data["names"],
            _HOW[kind] if cause is None else _meet_later(kind, fact.place, cause),
            arrays_in_words(facts, operands),
            evidence if cause is None else (*evidence, Evidence(_MEET, fact.place)),
        )


def clashes_at(
    facts: Facts, rule: Rule, kinds: Set[str], expected: str, fix: str
) -> Iterator[Finding]:
    """A finding for each place where names of these kinds meet, or where that was decided."""
    from ...trace.axes.layouts import settled_with
    from ...trace.describe import tensor_of

    said: set[Any] = set()
    settled: set[Any] = set()
    for clash in facts.axes.clashes:
        if clash.where not in kinds or (clash.step, clash.where) in settled:
            continue
        place = (clash.step and clash.step.place) or facts.traced.place
        if place is None or (place.file, place.line) in said:
            continue
        said.add((place.file, place.line))
        settled |= settled_with(facts.axes, clash)
        one, other = clash.first_name, clash.second_name
        tensors = (tensor_of(facts, it.value) for it in (clash.first, clash.second))
        shapes = " and ".join(dict.fromkeys(map(str, tensors)))
        evidence = _both_paths(facts, clash)
        cause = _caused_at(facts, clash) if clash.where in _PLACED else None
        how = _HOW[clash.where] if cause is None else _meet_later(clash.where, place, cause)
        yield rule.finding(
            cause or place,
            current=f"axes {one} and {other} {how}: {shapes}",
            expected=expected.format(one=one, other=other),
            fix=fix.format(one=one, other=other),
            evidence=evidence if cause is None else (*evidence, Evidence(_MEET, place)),
        )


def _caused_at(facts: Facts, clash: Clash) -> Place | None:
    """Where was decided that two axes meet: by what put one there, or by who handed both on."""
    from ...trace.axes.layouts import handed_at
    from ...trace.axes.orders import merged_by
    from ...trace.axes.placing import placed_by

    step = merged_by(facts.axes, clash) or placed_by(facts.axes, clash)
    if step is not None and facts.is_users(step):
        return facts.place(step)
    return handed_at(facts.axes, clash)


def _both_paths(facts: Facts, clash: Clash) -> Any:
    first = path_of(facts, clash.first, clash.first_name)
    if clash.where == "declared":
        return first
    second = path_of(facts, clash.second, clash.second_name)
    return (*first, *(step for step in second if step not in first))
