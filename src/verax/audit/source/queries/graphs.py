"""All values of a program."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Place
from ..events import Fact
from ..graph import Node
from ..values import nodes_of

if TYPE_CHECKING:
    from ..facts import SourceFacts


def all_nodes(facts: SourceFacts) -> Iterator[Node]:
    """Every node that a statement or a result of a function in this file is made from."""
    seen: set[Node] = set()
    for runs in facts.record.runs.values():
        for frame in runs:
            values = [value for _, value in (*frame.steps, *frame.returns)]
            pending = [node for value in values for node in nodes_of(value)]
            while pending:
                node = pending.pop()
                if node not in seen:
                    seen.add(node)
                    yield node
                    pending.extend(node.inputs)


def nodes_apart(facts: SourceFacts, one: Node, other: Node) -> tuple[Place, Place]:
    """Where two values are made, in the innermost call that holds them both."""
    events = [
        Fact(node.syntax, node.frame, "made", {})
        for node in (one, other)
        if node.syntax is not None and node.frame is not None
    ]
    if len(events) < 2:
        return Place("", 0), Place("", 0)
    return facts.places_apart(events[0], events[1])
