"""Indices that count past the end of an array.

A counter that stays below the size of an axis, and has something added to it, is outside in its
last turn. Where the program compares the counter with anything, or chooses what to do with the
element, it may know of that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Event, Fact
from ...frame import Frame
from ...operations import WRITES
from ...remember import each, walked
from ...shapes.dims import Dim, add, at_least
from ...text import text_of
from ...values import Data, Sequence, Value
from ..loops.accesses import indexed_axes
from ..loops.counters import Bound, bounds, counted, sizes_of
from ..nodes import all_nodes, users_of
from ..syntax import body_of, statement_around

if TYPE_CHECKING:
    from ...facts import SourceFacts

_CHOICES = frozenset(("where", "select", "select_n", "cond", "switch", "dynamic_slice"))
# How far an element is followed to a choice.
_STEPS = 40


@dataclass(frozen=True)
class Outside:
    """An access past the end: of which array, along which axis, and where its counter counts."""

    event: Event
    array: Data
    axis: int
    beyond: int
    is_write: bool
    counted: Bound


def outside(facts: SourceFacts) -> Iterator[Outside]:
    """All such accesses of the file, each once."""
    counters = bounds(facts)
    told: set[ast.AST] = set()
    for event, array, index, is_write in _accesses(facts) if counters else ():
        for axis, node in indexed_axes(index):
            counter, shift = counted(node)
            bound = counters.get(counter)
            if bound is None or shift < 1 or event.syntax in told:
                continue
            sizes = sizes_of(array.node)
            is_past = axis < len(sizes) and _is_past(bound.limit, shift, sizes[axis])
            if is_past and not _is_minded(facts, event):
                told.add(event.syntax)
                yield Outside(event, array, axis, shift, is_write, bound)


def _accesses(facts: SourceFacts) -> Iterator[tuple[Event, Data, Value, bool]]:
    for fact in facts.events(Fact):
        is_own = fact.kind == "indexed" and fact.frame.module is facts.module
        # Of keys there are too few then, which is told as such.
        if is_own and not fact.data["base"].node.is_key:
            yield fact, fact.data["base"], fact.data["index"], False
    for call in facts.calls(WRITES):
        pair = call.args[0] if call.args else None
        if isinstance(pair, Sequence) and pair.items and call.frame.module is facts.module:
            array, index = pair.items
            if isinstance(array, Data) and "mode" not in call.keywords:
                yield call, array, index, True


def _is_past(limit: Dim, shift: int, size: Dim) -> bool:
    """Whether the last turn is at the end, or after it."""
    return at_least(add(limit, shift - 1), size) is True


def _is_minded(facts: SourceFacts, event: Event) -> bool:
    """Whether the program seems to know what happens at the end."""
    around = statement_around(event.frame, event.syntax) or body_of(event.frame)
    if "mode=" in text_of(around):
        return True
    return _is_compared(event.frame, event.syntax) or _is_chosen(facts, event.syntax)


def _is_compared(frame: Frame, syntax: ast.AST) -> bool:
    """Whether a function around compares what the index is made of."""
    names = {it.id for it in each(syntax, ast.Name)}
    around: Frame | None = frame
    while around is not None:
        for node in walked(body_of(around)) if around.function is not None else ():
            if isinstance(node, ast.Compare):
                compared = {it.id for it in each(node, ast.Name)}
                if not compared.isdisjoint(names):
                    return True
        around = around.outer
    return False


def _is_chosen(facts: SourceFacts, syntax: ast.AST) -> bool:
    """Whether the element comes to something that may drop it."""
    nodes = all_nodes(facts)
    users = users_of(facts)
    pending = [it for it in nodes if it.syntax is syntax]
    for node in pending:
        if node.operation.rpartition(".")[2] in _CHOICES:
            return True
        if len(pending) < _STEPS:
            pending += [it for it in users.get(node, ()) if it not in pending]
    return False
