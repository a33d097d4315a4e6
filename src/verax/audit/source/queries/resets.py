"""Choices between a state that goes on and one of a reset, by a flag for the end of an episode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...words import words_of
from ..frame import Frame
from ..graph import Node
from ..values import Data
from .loops import made_from
from .targets import is_end

if TYPE_CHECKING:
    from ..facts import SourceFacts


@dataclass(frozen=True, eq=False)
class Reset:
    """A choice in the call of a function that knows its flag by a name for an end."""

    frame: Frame
    flag: str
    result: Node
    kept: Node
    fresh: Node
    is_reversed: bool


def resets(facts: SourceFacts) -> Iterator[Reset]:
    """All choices of which one side was made by a function that resets, and the other was not."""
    for call in facts.calls(("jax.numpy.where", "jax.lax.select")):
        if len(call.args) != 3 or not isinstance(call.result, Data):
            continue
        flag, first, second = call.args
        if not isinstance(flag, Data) or not isinstance(first, Data):
            continue
        if not isinstance(second, Data) or is_fresh(first.node) is is_fresh(second.node):
            continue
        is_reversed = is_fresh(second.node)
        kept, fresh = (first, second) if is_reversed else (second, first)
        judged = _without_shape(flag.node)
        frames = [it for it in call.frame.callers() if not isinstance(it.function, ast.Lambda)]
        known = [it for it in frames if is_end(facts, judged, it)]
        if not known or judged in made_from([fresh.node]) or _are_of_one_reset(judged, fresh.node):
            continue
        name = facts.name_of(Data(judged))
        yield Reset(known[0], name, call.result.node, kept.node, fresh.node, is_reversed)


def _are_of_one_reset(flag: Node, fresh: Node) -> bool:
    """Whether a reset made both in one record: the flag then tells nothing of another state."""
    record = _record(fresh)
    return _record(flag) is record and is_fresh(record)


def _record(node: Node) -> Node:
    """What a value is a part of."""
    while node.operation in ("field", "item") and node.inputs:
        node = node.inputs[0]
    return node


def _without_shape(node: Node) -> Node:
    while node.operation in ("item", "ndarray.reshape", "jax.numpy.expand_dims") and node.inputs:
        node = node.inputs[0]
    return node


# What a state keeps of its start, to go back to it.
_FIRST = frozenset("first init initial reset fresh start".split())


def is_fresh(node: Node) -> bool:
    """Whether a value was made in the call of a function that resets, or kept from there."""
    for _ in range(6):
        if node.operation in ("field", "item") and _FIRST & set(words_of(node.label)):
            return True
        frames = node.frame.callers() if node.frame is not None else ()
        if any("reset" in words_of(it.name.rpartition(".")[2]) for it in frames):
            return True
        if node.operation not in ("field", "item", "lane", "stack") or not node.inputs:
            return False
        node = node.inputs[0]
    return False
