"""Keys that one turn of a loop uses and hands to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Place
from ..events import Fact, KeyUse, Loop
from ..frame import Frame
from ..graph import Node
from ..values import Data
from .handing import handed_back_at
from .keys import calls, comes_from_outside, uses
from .loops import body_frame, paired_leaves, returned_at
from .names import local_name

if TYPE_CHECKING:
    from ..facts import SourceFacts


def handed_on_used(facts: SourceFacts) -> Iterator[tuple[Place, str, KeyUse]]:
    """Keys that a turn consumes and hands on, where the next turn consumes what it gets."""
    first: dict[Node, KeyUse] = {}
    for use in uses(facts):
        first.setdefault(use.key.node, use)
        first.setdefault(use.key.node.whole(), use)
    for loop in facts.events(Loop):
        for before, after in paired_leaves(loop.carry_in, loop.carry_out):
            if comes_from_outside(after.node, loop.region) or before.node is after.node:
                continue  # The same key in every turn, which is another mistake.
            used = [first.get(end) for end in _ends(after.node)]
            if before.node in first and used and all(used):
                body, use = body_frame(facts, loop), next(filter(None, used))
                place = handed_back_at(use, after.node, body) or returned_at(facts, loop)
                yield place or loop.place, local_name(facts, body, after), use
    for fact in facts.events(Fact):
        if fact.kind != "loop":
            continue
        for name, (before, after) in fact.data["carried"].items():
            if not isinstance(before, Data) or not isinstance(after, Data):
                continue
            for node in _ends(after.node):
                used = first.get(node)
                if (
                    before.node in first
                    and used is not None
                    and node in fact.data["spent"]
                    and node.is_made_in(fact.data["region"])
                ):
                    yield _where(used, fact.frame), name, used


def _where(use: KeyUse, frame: Frame) -> Place:
    """Where a function uses a key, be it in a function that it calls."""
    syntax = dict(calls(use)).get(frame)
    return use.place if syntax is None else frame.place(syntax)


_CHOICES = frozenset(("jax.numpy.where", "jax.lax.select", "cond"))


def _ends(node: Node) -> tuple[Node, ...]:
    """What a name may hold when a turn ends: one key, or one of those that a choice is between."""
    if node.operation == "join":
        return node.inputs
    if node.operation in _CHOICES:
        return tuple(end for it in node.inputs[1:] for end in _ends(it))
    return (node,)
