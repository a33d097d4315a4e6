"""Keepers of keys that give away the key which they go on from."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import KeyUse, Mutation
from ...graph import Node
from ...remember import remembered
from ...values import nodes_of
from ..exclusion import exclude_each_other
from ..loops.bodies import calls
from ..nodes import users_of
from .reuse import uses

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...frame import Frame

_SPLIT = "jax.random.split"


@dataclass(frozen=True, eq=False)
class GivenAway:
    """A key that leaves its keeper at a place, and its split."""

    place: Place
    use: KeyUse


def given_away(facts: SourceFacts) -> Iterator[GivenAway]:
    """Keys that are given to somebody, while a child of them takes their place.

    Who gets one consumes it, and so did the split: the children go on from the same bits. Where
    another child is used, the key itself may be told only so that a run can be repeated.
    """
    for use in uses(facts):
        for frame, syntax in calls(use) if use.by == _SPLIT else ():
            child = _successor(facts, frame, use.key.node)
            if child is None or any(_is_used(facts, it) for it in _siblings(child)):
                continue
            ways = _leaves_by(facts, frame, use.key.node)
            at = next((it for it in ways if not exclude_each_other(frame, it, syntax)), None)
            if at is not None:
                yield GivenAway(frame.place(at), use)
                break


@remembered
def _stores(facts: SourceFacts) -> dict[Frame, list[Mutation]]:
    """What each run of a function puts into things that there are."""
    found: dict[Frame, list[Mutation]] = {}
    for change in facts.events(Mutation):
        if change.value is not None:
            found.setdefault(change.frame, []).append(change)
    return found


def _successor(facts: SourceFacts, frame: Frame, key: Node) -> Node | None:
    """The child of a split that a function puts where the key has been."""
    for change in _stores(facts).get(frame, ()):
        if change.before is None or change.value is None or key not in nodes_of(change.before):
            continue
        for node in nodes_of(change.value):
            split = node.inputs[0] if node.operation == "item" and node.inputs else None
            if split is not None and split.operation == _SPLIT and key in split.inputs:
                return node
    return None


def _siblings(child: Node) -> list[Node]:
    return [it for it in (child.inputs[0].children or {}).values() if it is not child]


def _is_used(facts: SourceFacts, key: Node) -> bool:
    return key in _read(facts) or bool(users_of(facts).get(key))


@remembered
def _read(facts: SourceFacts) -> set[Node]:
    """What is consumed as a key, or kept, or returned."""
    consumed = {it.key.node for it in facts.events(KeyUse)}
    kept = (change.value for changes in _stores(facts).values() for change in changes)
    returned = (value for frame in facts.frames for _, value in frame.returns)
    given = (value for frame in facts.frames for value in frame.given.values())
    values = (*kept, *returned, *given)
    return consumed.union(node for it in values if it is not None for node in nodes_of(it))


def _leaves_by(facts: SourceFacts, frame: Frame, key: Node) -> Iterator[ast.AST]:
    """Where a function stores a key in what it was given, or returns it."""
    for change in _stores(facts).get(frame, ()):
        is_own = change.made_in is frame
        if not is_own and change.value is not None and key in nodes_of(change.value):
            yield change.syntax
    for syntax, value in frame.returns:
        if key in nodes_of(value):
            yield syntax
