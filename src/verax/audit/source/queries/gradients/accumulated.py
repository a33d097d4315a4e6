"""Gradients that are added up over the turns of a loop, and what becomes of their losses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Applied, Call
from ...graph import Node
from ...operations import MEANS
from ...values import nodes_of
from ..nodes import users_of
from .flows import loss_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_SUMS = frozenset(("+", "builtins.sum"))
# What is the same on the other side of a loop or a choice, or a part of a tuple.
_SAME = frozenset("last join carry turn item copy".split())
_BEFORE = frozenset("carry turn join".split())
_SCALES = frozenset(("/", "*"))


@dataclass(frozen=True, eq=False)
class Unaveraged:
    """A sum of gradients that an optimiser gets, beside a mean of their losses."""

    derivative: Applied
    total: Node
    update: Call
    mean: Node


def unaveraged(facts: SourceFacts) -> Iterator[Unaveraged]:
    """Sums over the turns of a loop of gradients, of whose losses the mean is taken."""
    events = [it for it in facts.events(Applied) if it.transformed.kind == "value_and_grad"]
    if not events:
        return
    updates = {
        node: call
        for call in facts.events(Call)
        if call.name.endswith(".update") and len(call.args) > 2
        for node in nodes_of(call.args[1])
    }
    users = users_of(facts) if updates else {}
    for event in events if updates else ():
        found = _unaveraged(event, updates, users)
        if found is not None:
            yield found


def _unaveraged(
    event: Applied, updates: dict[Node, Call], users: dict[Node, list[Node]]
) -> Unaveraged | None:
    losses = nodes_of(loss_of(event))
    mean = next((it for loss in losses for it in _mean_of(loss, users)), None)
    if mean is None:
        return None
    gradients = [it for it in nodes_of(event.outside) if it.operation == "gradient"]
    for gradient in gradients:
        for total in _totals(gradient, users):
            if total in updates:
                return Unaveraged(event, total, updates[total], mean)
    return None


def _mean_of(loss: Node, users: dict[Node, list[Node]]) -> Iterator[Node]:
    """What divides the sum of a loss over turns."""
    for total in _totals(loss, users):
        for user in users.get(total, ()):
            is_divided = user.operation in _SCALES and user.inputs[:1] == (total,)
            if is_divided or (total.operation == "stack" and user.operation in MEANS):
                yield user


def _totals(node: Node, users: dict[Node, list[Node]]) -> list[Node]:
    """The sums that a value is a part of, as they come out of a loop; and all of them stacked."""
    found: list[Node] = []
    pending = [(node, False)]
    seen = {node}
    while pending and len(seen) < 60:
        current, is_summed = pending.pop()
        for user in users.get(current, ()):
            is_sum = _is_sum(user, current)
            if user in seen or not (is_sum or user.operation in _SAME or user.operation == "stack"):
                continue
            seen.add(user)
            if is_summed or is_sum or user.operation == "stack":
                found.append(user)
            pending.append((user, is_summed or is_sum))
    return found


def _is_sum(node: Node, part: Node) -> bool:
    """Whether a part is added to what the turns before have left."""
    others = [it for it in node.inputs if it is not part]
    return node.operation in _SUMS and len(others) == 1 and others[0].operation in _BEFORE
