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
from ...values import Constant, Data, Value, nodes_of
from ..nodes import position_in
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
        parts = [_mixed(it) for it in nodes_of(value)]
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


def _mixed(node: Node) -> set[Node] | None:
    """The two values that a node is a mixture of, with weights that sum to one."""
    if node.operation != "+" or len(node.operands) != 2:
        return None
    products = [_product(it) for it in node.operands]
    one, other = products
    if one is None or other is None:
        return None
    return {one[1], other[1]} if _sum_to_one(one[0], other[0]) else None


def _product(value: Value) -> tuple[Value, Node] | None:
    """A weight and what it multiplies."""
    node = value.node if isinstance(value, Data) else None
    if node is None or node.operation != "*" or len(node.operands) != 2:
        return None
    weight, of = node.operands
    if isinstance(of, Constant):
        weight, of = of, weight
    return (weight, of.node) if isinstance(of, Data) else None


def _sum_to_one(one: Value, other: Value) -> bool:
    if isinstance(one, Constant) and isinstance(other, Constant):
        numbers = (one.value, other.value)
        return all(isinstance(it, (int, float)) for it in numbers) and abs(sum(numbers) - 1) < 1e-9
    return _is_rest(one, other) or _is_rest(other, one)


def _is_rest(value: Value, of: Value) -> bool:
    """Whether a value is one minus another one."""
    if not isinstance(value, Data) or not isinstance(of, Data) or value.node.operation != "-":
        return False
    first, *rest = value.node.operands or (None,)
    is_one = isinstance(first, Constant) and first.value == 1
    return is_one and len(rest) == 1 and isinstance(rest[0], Data) and rest[0].node is of.node
