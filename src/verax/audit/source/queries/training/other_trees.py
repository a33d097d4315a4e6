"""Optimisers' states that were made for other parameters than those whose gradients they get."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Call
from ...graph import Node, sources
from ...operations import ACROSS
from ...values import Value, nodes_of

if TYPE_CHECKING:
    from ...facts import SourceFacts

_APPLIED = frozenset(("optax.apply_updates", "equinox.apply_updates"))


@dataclass(frozen=True, eq=False)
class OtherTree:
    """`init` was given one tree; the gradients that `update` gets are those of another one."""

    init: Call
    update: Call


def states_of_other_trees(facts: SourceFacts) -> Iterator[OtherTree]:
    """States that start with one tree and get the gradients of another, which both are trained.

    What a tree was made from in ways that are not known may be the same tree; so both have to be
    seen as what gradients are taken of.
    """
    updates = [it for it in facts.calls(_named(facts, ".update")) if len(it.args) > 2]
    if len(updates) < 2:
        return
    inits = _inits(facts)
    trained = [_bases(_differentiated(it.args[1])) for it in updates]
    everything = frozenset(node for nodes in trained for node in nodes)
    told: set[Call] = set()
    for update, own in zip(updates, trained, strict=True):
        if not own:
            continue
        behind = sources(own, through=_keeps_tree)
        for node in _bases(nodes_of(update.args[2])):
            init = inits.get(node)
            if init is None or init in told or len(init.args) < 2:
                continue
            given = _bases(nodes_of(init.args[1]))
            if given and given <= everything and behind.isdisjoint(given):
                told.add(init)
                yield OtherTree(init, update)


def _named(facts: SourceFacts, end: str) -> list[str]:
    return [name for name in facts.calls_by_name if name.endswith(end)]


def _inits(facts: SourceFacts) -> dict[Node, Call]:
    return {
        node: call
        for call in facts.calls(_named(facts, ".init"))
        for node in nodes_of(call.result)
        if node.operation == ".init"
    }


def _differentiated(gradients: Value) -> list[Node]:
    """What gradients were taken of, where that is seen of each of them."""
    found: list[Node] = []
    for node in nodes_of(gradients):
        if node.operation != "gradient" or not node.inputs:
            return []
        found.append(node.inputs[0])
    return found


def _keeps_tree(node: Node) -> bool:
    """Whether something may be the same tree as what it is made from: gradients are not."""
    return node.operation not in ("gradient", ".update")


def _bases(nodes: list[Node]) -> frozenset[Node]:
    """Where trees and states come from, before any update."""
    pending, found, seen = list(nodes), set[Node](), set[Node]()
    while pending and len(seen) < 500:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.operation in ACROSS and node.inputs:
            pending.extend(node.inputs)
        elif node.operation in _APPLIED and node.inputs:
            pending.append(node.inputs[0])
        elif node.operation == "item" and node.inputs and node.inputs[0].operation == ".update":
            pending.extend(node.inputs[0].inputs[-2:])
        else:
            found.add(node)
    return frozenset(found)
