"""Results that another call overwrites before anybody has read them, though both were to be summed.

`x, log_det = first(x)`, `x, log_det = second(x)`, and then `total = total + log_det`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...finding import Place
from ..remember import walked
from ..text import text_of

if TYPE_CHECKING:
    from ..facts import SourceFacts


@dataclass(frozen=True)
class Overwritten:
    """A result that is lost, where it is overwritten, and to what the second one is added."""

    place: Place
    name: str
    overwritten_at: Place
    total: str


def overwritten(facts: SourceFacts) -> Iterator[Overwritten]:
    """All such results of a file."""
    told: set[ast.stmt] = set()
    for function, runs in facts.functions():
        for block in _blocks(function):
            for first, second, name, total in _in_block(block):
                place = runs[0].place
                if first not in told:
                    told.add(first)
                    yield Overwritten(place(first), name, place(second), total)


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return
    for node in walked(function):
        if isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.FunctionDef)):
            yield node.body


def _in_block(block: list[ast.stmt]) -> Iterator[tuple[ast.stmt, ast.stmt, str, str]]:
    for number, first in enumerate(block):
        for name in _results(first):
            for position in range(number + 1, len(block)):
                second = block[position]
                if name in _results(second) and not _reads(second, name):
                    total = _total(block[position + 1 :], name)
                    if total and _goes_on(first, second, name):
                        yield first, second, name, total
                    break
                if _mentions(second, name):
                    break


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


def _goes_on(first: ast.stmt, second: ast.stmt, but: str) -> bool:
    """Whether the second call takes what the first one made."""
    return any(_reads(second, it) for it in _results(first) if it != but)


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
