"""The two results of a scan, and what is asked of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Fact, Loop
from ...frame import Frame
from ...values import Instance, Mapping, Sequence, Value, class_of
from ..structures.structure import parts_of

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True)
class MixedUp:
    """A result of a scan that is asked for a part of the other one, and where it was taken."""

    loop: Loop
    taken: str
    wanted: str
    text: str
    taken_at: Place
    read_at: Place


def mixed_up(facts: SourceFacts) -> Iterator[MixedUp]:
    """All of them, each once for a place where the results are taken apart."""
    missing = [it for it in facts.events(Fact) if it.kind == "missing"]
    results = _results(facts) if missing else {}
    said: set[Place] = set()
    for fact in missing:
        loop, number = results.get(id(fact.data["value"]), (None, 0))
        if loop is None or not isinstance(loop.outside, Sequence) or loop.outside.items is None:
            continue
        if not _has(loop.outside.items[1 - number], fact.data["name"]):
            continue
        taken_at = _taken_at(fact.frame, loop.outside) or fact.place
        if taken_at not in said:
            said.add(taken_at)
            words = "carry", "outputs"
            taken, wanted = words[number], words[1 - number]
            yield MixedUp(loop, taken, wanted, fact.text, taken_at, fact.place)


def _results(facts: SourceFacts) -> dict[int, tuple[Loop, int]]:
    found: dict[int, tuple[Loop, int]] = {}
    for loop in facts.events(Loop):
        outside = loop.outside if loop.kind == "scan" else None
        if isinstance(outside, Sequence) and outside.items is not None:
            for number, item in enumerate(outside.items[:2]):
                if isinstance(item, (Sequence, Mapping, Instance)):
                    found[id(item)] = loop, number
    return found


def _has(value: Value, name: str) -> bool:
    cls = class_of(value)
    return name in parts_of(value) or (cls is not None and cls.find(name) is not None)


def _taken_at(frame: Frame, results: Value) -> Place | None:
    """Where the results were taken apart by the function that reads them, or by one that calls."""
    for caller in frame.callers():
        for statement, value in caller.steps:
            if value is results and isinstance(statement, ast.Assign):
                return caller.place(statement)
    return None


_OF_ALL = frozenset("outputs outs ys history trajectory traj stacked curve losses all".split())
_OF_LAST = frozenset("final last carry end".split())


def named_otherwise(facts: SourceFacts) -> Iterator[tuple[Loop, Place]]:
    """Scans whose results have names that say the opposite: `outputs, final = scan(...)`."""
    for loop in facts.events(Loop):
        names = _names_of_results(loop) if loop.kind == "scan" else None
        if names is None:
            continue
        statement, first, second = names
        is_buffer = any(_words(it) & _OF_ALL for it in _names_of_start(loop))
        if _means_all(first) and _means_last(second) and not is_buffer:
            yield loop, loop.frame.place(statement)


def _names_of_results(loop: Loop) -> tuple[ast.stmt, str, str] | None:
    for statement, value in loop.frame.steps:
        match statement:
            case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(first), ast.Name(second)])]):
                if value is loop.outside:
                    return statement, first, second
            case _:
                pass
    return None


def _names_of_start(loop: Loop) -> list[str]:
    start = loop.syntax.args[1:2] if isinstance(loop.syntax, ast.Call) else []
    return [it.id for given in start for it in ast.walk(given) if isinstance(it, ast.Name)]


def _words(name: str) -> set[str]:
    return set(name.lower().split("_"))


def _means_all(name: str) -> bool:
    return bool(_words(name) & _OF_ALL) and not _words(name) & _OF_LAST


def _means_last(name: str) -> bool:
    return bool(_words(name) & _OF_LAST) and not _words(name) & _OF_ALL
