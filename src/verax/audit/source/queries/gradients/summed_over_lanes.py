"""Gradients of the lanes of a map that are added up, though each is for something of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Applied
from ...graph import Node
from ...values import Data, leaves
from ..loops.maps import applied_maps
from ..nodes import names_axis, stacked_over, users_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_SAME = frozenset(("primal", "turn", "field", "item", "element"))
# What is done to one gradient before it is added to the others: clipping, a weight.
_KEPT = frozenset(("*", "/", "stack", "lane", "-x", "field", "item", "element"))
_REDUCTIONS = frozenset(("sum", "mean"))
_MOST_STEPS = 200


def summed_over_lanes(facts: SourceFacts) -> Iterator[tuple[Applied, Data, Node]]:
    """Maps over the parts of a record, whose gradients for it are then added up over all lanes.

    Models of an ensemble have gradients of their own, which nobody adds up. One that is meant to be
    shared has one for each example. Yields the map, an array of the record, and the sum.
    """
    users = users_of(facts)
    for event in applied_maps(facts):
        lanes = {
            leaf.node: lane
            for value in event.args
            for leaf in leaves(value)
            for lane in users.get(leaf.node, ())
            if lane.operation == "lane" and event.region in lane.varies and not lane.is_key
        }
        for record in event.args:
            parts = [leaf.node for leaf in leaves(record)]
            is_tree = len(parts) > 1 and not isinstance(record, Data)
            has_data_beside = any(it not in parts for it in lanes)
            if not is_tree or not has_data_beside or any(it not in lanes for it in parts):
                continue
            for part in parts:
                total = _sum_of_gradients(lanes[part], users)
                if total is not None:
                    yield event, Data(part), total
                    break


def _sum_of_gradients(lane: Node, users: dict[Node, list[Node]]) -> Node | None:
    totals = (_total(gradient, users) for gradient in _gradients(lane, users))
    return next((it for it in totals if it is not None), None)


def _gradients(node: Node, users: dict[Node, list[Node]]) -> Iterator[Node]:
    """Gradients with respect to a value."""
    for user in users.get(node, ()):
        if user.operation == "gradient" and user.inputs and user.inputs[0] is node:
            yield user
        elif user.operation in _SAME:
            yield from _gradients(user, users)


def _total(gradient: Node, users: dict[Node, list[Node]]) -> Node | None:
    """A sum or mean over all lanes of their gradients."""
    pending, seen = [gradient], {gradient}
    while pending and len(seen) < _MOST_STEPS:
        node = pending.pop()
        for user in users.get(node, ()):
            name = user.operation.rpartition(".")[2]
            over_first = name in _REDUCTIONS and names_axis(user) and _axis(user) == 0
            over = stacked_over(node)
            if over_first and over is not None and over.kind in ("vmap", "pmap"):
                return user
            if user.operation in _KEPT and user not in seen:
                seen.add(user)
                pending.append(user)
    return None


def _axis(node: Node) -> object:
    call = node.syntax
    if not isinstance(call, ast.Call):
        return None
    given = call.args[0 if node.operation.startswith("ndarray.") else 1 :]
    axis = next((it.value for it in call.keywords if it.arg == "axis"), given[0] if given else None)
    return axis.value if isinstance(axis, ast.Constant) else None
