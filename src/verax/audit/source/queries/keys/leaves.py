"""Random numbers that are drawn for the leaves of a tree, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Fact, KeyUse
from ...frame import Frame
from ...graph import Node
from ...values import Data, nodes_of
from ..handing import handed_in_at, is_key
from .reordering import REORDERING
from .reuse import is_abstract, uses

if TYPE_CHECKING:
    from ...facts import SourceFacts


def drawn_for_leaves(facts: SourceFacts) -> Iterator[tuple[KeyUse, Place]]:
    """Draws in `tree.map` from a key of outside, where the tree may have any number of leaves.

    The leaves of a tree that is known are gone through one by one, and tell by themselves.
    """
    maps = [it for it in facts.events(Fact) if it.kind == "tree map" and _is_any_tree(it)]
    if not maps:
        return
    drawn = [use for use in uses(facts) if use.by.startswith("jax.random.") and use.is_certain]
    for use in drawn:
        if use.by == "jax.random.split" or use.by in REORDERING or is_abstract(use.region):
            continue
        for fact in maps:
            inner = _call_of(use.frame, fact)
            if inner is None or _is_made_within(use.key.node, inner):
                continue
            own = {node for tree in fact.data["trees"] for node in nodes_of(tree)}
            if own.isdisjoint(use.key.node.ancestors()):
                yield use, handed_in_at(use, is_key(use.key.node), within=fact.frame)
                break


def _is_any_tree(fact: Fact) -> bool:
    tree = fact.data["trees"][0]
    return isinstance(tree, Data) and not tree.is_array


def _call_of(frame: Frame, fact: Fact) -> Frame | None:
    """The call of the mapped function that a frame is in."""
    for it in frame.callers():
        if it.caller is fact.frame and it.called_at is fact.syntax:
            return it
    return None


def _is_made_within(node: Node, call: Frame) -> bool:
    return node.frame is not None and node.frame.is_inside(call)
