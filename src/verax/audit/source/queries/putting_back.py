"""What is put back before a transformation ends: of what was stored until then, nothing is kept.

A context manager is gone through as a whole when it is entered, so that what it does at its end is
noted before what happens inside of it: what a `finally` stores counts whenever that is noted.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..events import Mutation
from ..frame import Frame, Region
from ..graph import Node
from ..remember import remembered, walked
from ..text import text_of
from ..values import Instance, Sequence, Value, nodes_of
from .boundaries import holds_tracer
from .exclusion import comes_with, exclude_each_other
from .syntax import body_of

if TYPE_CHECKING:
    from ..facts import SourceFacts

_Attribute = tuple[Value, str]


def is_put_back(facts: SourceFacts, change: Mutation, region: Region) -> bool:
    """Whether what was stored is taken out again, or something that is no tracer replaces it."""
    return (
        _is_replaced(facts, change)
        or _is_cleaned_up(facts, change, region)
        or _is_taken_out(facts, change, region)
    )


def _is_replaced(facts: SourceFacts, change: Mutation) -> bool:
    """Whether something else is stored in its place, before the traced function ends."""
    stored = _nodes(change.value)
    same = _changes(facts)[_owner(change)]
    for later in same[same.index(change) + 1 :]:
        replaces = later.frame.region is not None and not stored.isdisjoint(_nodes(later.before))
        if replaces and not holds_tracer(later.value) and _follows(later, change):
            return True
    return False


@remembered
def _changes(facts: SourceFacts) -> dict[tuple[int, str], list[Mutation]]:
    """The changes of each part of each thing, in the order of the run."""
    found: dict[tuple[int, str], list[Mutation]] = {}
    for change in facts.events(Mutation):
        found.setdefault(_owner(change), []).append(change)
    return found


def _owner(change: Mutation) -> tuple[int, str]:
    return id(change.target), part_of(change)


def part_of(change: Mutation) -> str:
    """The name or key of what is changed."""
    syntax = change.syntax
    if isinstance(syntax, ast.Attribute):
        return syntax.attr
    return text_of(syntax.slice) if isinstance(syntax, ast.Subscript) else change.name


def _is_taken_out(facts: SourceFacts, change: Mutation, region: Region) -> bool:
    """Whether the container that something is put into gives it away, before the region ends."""
    found = _removals(facts).get(id(change.target), ())
    at = facts.events(Mutation).index(change) if found else 0
    for number, removal in found:
        if _is_within(removal, region) and _may_take(removal, change):
            is_next = number > at and _follows(removal, change, comes_with)
            if is_next or _is_at_end(removal):
                return True
    return False


_TAKING = frozenset("delete pop popitem remove discard clear".split())


@remembered
def _removals(facts: SourceFacts) -> dict[int, list[tuple[int, Mutation]]]:
    """The changes that take something out of a thing, by the thing, and when they happen."""
    found: dict[int, list[tuple[int, Mutation]]] = {}
    for number, change in enumerate(facts.events(Mutation)):
        if change.how in _TAKING and change.frame.is_staged:
            found.setdefault(id(change.target), []).append((number, change))
    return found


def _may_take(removal: Mutation, change: Mutation) -> bool:
    """Whether a removal may be that of what was added: not of another key, or of the oldest."""
    syntax = removal.syntax
    if isinstance(syntax, ast.Attribute) or change.how == "attribute":
        return part_of(removal) == part_of(change)
    taken = syntax.args[0] if isinstance(syntax, ast.Call) and syntax.args else None
    if isinstance(syntax, ast.Subscript):
        taken = syntax.slice
    if not isinstance(taken, ast.Constant):
        return True
    if isinstance(removal.target, Sequence):
        return removal.how == "remove"
    added = change.syntax.slice if isinstance(change.syntax, ast.Subscript) else None
    return not isinstance(added, ast.Constant) or added.value == taken.value


def _never_excluded(frame: Frame, one: ast.AST, other: ast.AST) -> bool:
    return not exclude_each_other(frame, one, other)


def _follows(
    later: Mutation,
    earlier: Mutation,
    can: Callable[[Frame, ast.AST, ast.AST], bool] = _never_excluded,
) -> bool:
    """Whether both of two changes can happen in one call: they are not of two branches."""
    places: dict[Frame, ast.AST] = {}
    syntax: ast.AST | None = earlier.syntax
    for frame in earlier.frame.callers():
        if syntax is not None:
            places[frame] = syntax
        syntax = frame.called_at
    syntax = later.syntax
    for frame in later.frame.callers():
        if frame in places and syntax is not None:
            return can(frame, syntax, places[frame])
        syntax = frame.called_at
    return False


def _nodes(value: Value | None) -> set[Node]:
    """What a value is, or may be where several ways have met."""
    pending = [] if value is None else list(nodes_of(value))
    found = set(pending)
    for node in pending:
        if node.operation == "join":
            pending += [it for it in node.inputs if it not in found]
            found.update(node.inputs)
    return found


def _is_cleaned_up(facts: SourceFacts, change: Mutation, region: Region) -> bool:
    """Whether an attribute gets another value, which is no tracer, when a transformation ends."""
    attribute = _changed(change)
    if attribute is None:
        return False
    return any(_is_within(it, region) for it in _at_ends(facts).get(attribute, ()))


@remembered
def _at_ends(facts: SourceFacts) -> dict[_Attribute, list[Mutation]]:
    """The attributes that are given something else than a tracer in a `finally`."""
    found: dict[_Attribute, list[Mutation]] = {}
    for change in facts.events(Mutation):
        if change.how == "attribute" and change.frame.is_staged and not holds_tracer(change.value):
            attribute = _changed(change)
            if attribute is not None and _is_at_end(change):
                found.setdefault(attribute, []).append(change)
    return found


def _is_within(change: Mutation, region: Region) -> bool:
    around = change.frame.region
    return around is not None and region in around.chain()


def _changed(change: Mutation) -> _Attribute | None:
    """The attribute that is given a value, or that holds what is given an item."""
    syntax, target = change.syntax, change.target
    if change.how == "attribute":
        return (target, syntax.attr) if target and isinstance(syntax, ast.Attribute) else None
    held = syntax.value if isinstance(syntax, ast.Subscript) else None
    if isinstance(held, ast.Attribute) and isinstance(held.value, ast.Name):
        owner = change.frame.environment.get(held.value.id)
        return (owner, held.attr) if isinstance(owner, Instance) else None
    return None


def _is_at_end(change: Mutation) -> bool:
    """Whether a change is made by what stands in a `finally`."""
    frame: Frame | None = change.frame
    syntax: ast.AST | None = change.syntax
    while frame is not None and syntax is not None:
        if syntax in _final_parts(body_of(frame)):
            return True
        frame, syntax = frame.caller, frame.called_at
    return False


@remembered
def _final_parts(body: ast.AST) -> frozenset[ast.AST]:
    """All syntax in the `finally` blocks of a function."""
    tries = [it for it in walked(body) if isinstance(it, ast.Try)]
    return frozenset(node for it in tries for last in it.finalbody for node in walked(last))
