"""Moving averages of parameters that have just been updated, taken of their old values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Call
from ...graph import Node
from ...text import text_of
from ...values import nodes_of
from ..nodes import position_in
from ..numbers.mixtures import mixed
from ..syntax import statement_around

if TYPE_CHECKING:
    from ...facts import SourceFacts

_MOVED = ("optax.incremental_update",)


@dataclass(frozen=True)
class StaleAverage:
    """An average of old parameters; `updated_at` is where the new ones are made."""

    place: Place
    old: str
    updated_at: Place


def stale_averages(facts: SourceFacts) -> Iterator[StaleAverage]:
    """Averages that a function takes of parameters after it has updated them."""
    averaged = [(it.frame, it, set(nodes_of(it.args[0]))) for it in facts.calls(_MOVED) if it.args]
    for update in facts.calls(("optax.apply_updates",)):
        old = set(nodes_of(update.args[0])) if update.args else set[Node]()
        statement = statement_around(update.frame, update.syntax)
        if not old or statement is None:
            continue
        syntax = update.syntax
        name = text_of(syntax.args[0]) if isinstance(syntax, ast.Call) else "parameters"
        for frame, call, given in averaged:
            is_later = getattr(call.syntax, "lineno", 0) > statement.lineno
            if frame is update.frame and is_later and given <= old:
                yield StaleAverage(call.place, name, update.place)
        yield from _by_hand(update, statement.lineno, old, name)


def _by_hand(update: Call, line: int, old: set[Node], name: str) -> Iterator[StaleAverage]:
    """The same, as `decay * average + (1 - decay) * params` leaf by leaf."""
    frame, new = update.frame, set(nodes_of(update.result))
    for step, value in frame.steps:
        if step.lineno <= line:
            continue
        parts = [mixed(it) for it in nodes_of(value)]
        # At the start an average may be what it is an average of.
        if parts and all(
            it and not old.isdisjoint(it) and new.isdisjoint(map(_whole, it)) for it in parts
        ):
            made = position_in(frame, nodes_of(value)[0])
            if made is not None and made.lineno > line:
                yield StaleAverage(frame.place(made), name, update.place)


def _whole(node: Node) -> Node:
    """The tree that a node is a leaf of."""
    while node.operation in ("item", "field") and node.inputs:
        node = node.inputs[0]
    return node
