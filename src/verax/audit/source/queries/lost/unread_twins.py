"""What a function makes in the way of another thing, later, and never reads, using the other one.

`kernel = build(tuned)` after `pilot = build(start)`, and then `sample(pilot, state)`: the second
was made to take the place of the first.
"""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame
from ...parameters import NamedFunction
from ...remember import remembered
from ...values import Bound, Class, Function, Partial, Transformed
from ..reads import reads_of
from .unread_values import unread_values

if TYPE_CHECKING:
    from ...facts import SourceFacts

_CALLABLE = (Function, Partial, Transformed, Bound)


@dataclass(frozen=True)
class Twin:
    """A name that nothing reads, where it is made, and the older one, where it is used."""

    name: str
    place: Place
    older: str
    used_at: Place


@remembered
def unread_twins(facts: SourceFacts) -> list[Twin]:
    """All such names of functions of the file."""
    unread = {(it.name, it.place) for it in unread_values(facts) if not it.is_total}
    found: list[Twin] = []
    for function, (frame, *_) in facts.functions():
        made = dict.fromkeys(it for it, _ in frame.steps if _made(it) is not None)
        makers: dict[str, list[ast.stmt]] = {}
        times = Counter(_pair(it)[0] for it in made)
        for later in made if len(made) > 1 else ():
            name, call = _pair(later)
            before = makers.setdefault(ast.unparse(call.func), [])
            is_data = (name, frame.place(later)) in unread
            is_unread = is_data or _is_unread(function, name, later)
            older = _older(function, before, later, times) if is_unread else None
            before.append(later)
            if older is None or not _is_own(facts, frame, call.func):
                continue
            # To make a function does nothing by itself.
            if is_data or isinstance(frame.environment.get(older.id), _CALLABLE):
                found.append(Twin(name, frame.place(later), older.id, frame.place(older)))
    return found


def _made(statement: ast.stmt) -> tuple[str, ast.Call] | None:
    """The name that a statement gives to what a call returns."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Name) or not isinstance(value, ast.Call):
        return None
    return target.id, value


def _pair(statement: ast.stmt) -> tuple[str, ast.Call]:
    made = _made(statement)
    assert made is not None
    return made


def _is_unread(function: NamedFunction, name: str, statement: ast.stmt) -> bool:
    return not name.startswith("_") and not reads_of(function).after(statement, name)


def _older(
    function: NamedFunction, alike: list[ast.stmt], later: ast.stmt, times: Counter[str]
) -> ast.Name | None:
    """Where the last thing that the same function made before, from others, is first used on."""
    name, call = _pair(later)
    reads, end = reads_of(function), later.end_lineno or later.lineno
    if reads.around(later):
        return None
    for it in reversed(alike):
        other, before = _pair(it)
        if other == name:
            continue
        if ast.unparse(before) == ast.unparse(call) or other in reads.within:
            return None
        if times[other] > 1:
            return None
        uses = [one for one in reads.lines.get(other, ()) if one.lineno > end]
        return min(uses, key=lambda one: (one.lineno, one.col_offset), default=None)
    return None


def _is_own(facts: SourceFacts, frame: Frame, called: ast.expr) -> bool:
    """Whether the project defines what is called, be it as a method."""
    if isinstance(called, ast.Attribute):
        return True
    found = facts.machine.lookup(frame, called.id) if isinstance(called, ast.Name) else None
    return isinstance(found, (Function, Class, *_CALLABLE))
