"""What a `finally` puts back: of what was stored there until then, nothing is kept.

A context manager is gone through as a whole when it is entered, so that what it does at its end is
noted before what happens inside of it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ..events import Mutation
from ..frame import Frame, Region
from ..remember import remembered, walked
from ..values import Instance, Value, leaves
from .syntax import body_of

if TYPE_CHECKING:
    from ..facts import SourceFacts

_Attribute = tuple[Value, str]


def is_cleaned_up(facts: SourceFacts, change: Mutation, region: Region) -> bool:
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
        if change.how == "attribute" and change.frame.is_staged and not _holds_tracer(change):
            attribute = _changed(change)
            if attribute is not None and _is_at_end(change):
                found.setdefault(attribute, []).append(change)
    return found


def _is_within(change: Mutation, region: Region) -> bool:
    around = change.frame.region
    return around is not None and region in around.chain()


def _holds_tracer(change: Mutation) -> bool:
    return change.value is not None and any(leaf.traced for leaf in leaves(change.value))


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
