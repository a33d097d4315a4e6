"""Results that another call overwrites before anybody has read them, though both were to be summed.

`x, log_det = first(x)`, `x, log_det = second(x)`, and then `total = total + log_det`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...remember import walked
from ...text import text_of
from .overwritten import StoredTwice, stored_twice

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True)
class OverwrittenTerm:
    """A result that is lost, where it is overwritten, and to what the second one is added."""

    place: Place
    name: str
    overwritten_at: Place
    total: str


def overwritten_terms(facts: SourceFacts) -> Iterator[OverwrittenTerm]:
    """All such results of a file."""
    told: set[ast.stmt] = set()
    for function, runs in facts.functions():
        for pair in stored_twice(function):
            total = _total(pair.rest, pair.name) if _goes_on(pair) else ""
            if total and pair.first not in told:
                told.add(pair.first)
                place = runs[0].place
                yield OverwrittenTerm(place(pair.first), pair.name, place(pair.second), total)


def _results(statement: ast.stmt) -> list[str]:
    """The names that take several results of a call."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return []
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple) or len(statement.targets) > 1:
        return []
    names = [it.id for it in target.elts if isinstance(it, ast.Name)]
    return [it for it in names if not it.startswith("_")]


def _reads(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(it, ast.Name) and it.id == name and isinstance(it.ctx, ast.Load)
        for it in walked(statement)
    )


def _mentions(statement: ast.stmt, name: str) -> bool:
    return any(isinstance(it, ast.Name) and it.id == name for it in walked(statement))


def _goes_on(pair: StoredTwice) -> bool:
    """Whether the second call takes what the first one made beside the name."""
    others = [it for it in _results(pair.first) if it != pair.name]
    are_results = pair.name in _results(pair.first) and pair.name in _results(pair.second)
    return are_results and any(_reads(pair.second, it) for it in others)


def _total(rest: list[ast.stmt], name: str) -> str:
    """What a value is added to, before it gets another one."""
    for statement in rest:
        if isinstance(statement, ast.AugAssign) and _is_name(statement.value, name):
            return text_of(statement.target) if isinstance(statement.op, ast.Add) else ""
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp):
            sides = (statement.value.left, statement.value.right)
            target = text_of(statement.targets[0])
            if isinstance(statement.value.op, ast.Add) and any(_is_name(it, name) for it in sides):
                others = [text_of(it) for it in sides if not _is_name(it, name)]
                return target if target in others else ""
        if _mentions(statement, name):
            return ""
    return ""


def _is_name(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name
