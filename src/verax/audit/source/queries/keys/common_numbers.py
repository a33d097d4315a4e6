"""Random numbers that all lanes of a map share on purpose: to compare what is mapped by them.

A population of policies that all play the same episodes is told from examples that should each have
noise of their own by what the numbers meet: weights multiply what comes of them as matrices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...frame import Region
from ...graph import Node
from ...operations import CONTRACTIONS
from ..nodes import all_nodes
from .reuse import uses

if TYPE_CHECKING:
    from ...facts import SourceFacts


def compare_by_same_numbers(facts: SourceFacts, region: Region) -> bool:
    """Whether what is mapped meets what is drawn from a shared key in products of matrices only."""
    kinds = _Kinds(facts, region)
    has_met = False
    for node in all_nodes(facts):
        if node.is_made_in(region) and kinds.is_meeting(node):
            if node.operation not in CONTRACTIONS:
                return False
            has_met = True
    return has_met


class _Kinds:
    """What values inside of a map come from: lanes, draws, or both after they have met."""

    def __init__(self, facts: SourceFacts, region: Region):
        self._region = region
        self._keys = {it.key.node for it in uses(facts)}
        self._known: dict[Node, str] = {}

    def is_meeting(self, node: Node) -> bool:
        """Whether something that is mapped meets something drawn for the first time."""
        kinds = {self.of(it) for it in node.inputs}
        return {"lane", "drawn"} <= kinds and "both" not in kinds

    def of(self, node: Node) -> str:
        """`lane`, `drawn`, `both`, or nothing of these."""
        pending = [node]
        while pending:
            it = pending[-1]
            inputs = it.inputs if it.is_made_in(self._region) and not self._is_lane(it) else ()
            new = [source for source in inputs if source not in self._known]
            if it in self._known or not new:
                self._known[pending.pop()] = self._kind(it, inputs)
            else:
                self._known[it] = ""  # For what goes round in a circle.
                pending += new
        return self._known[node]

    def _kind(self, node: Node, inputs: tuple[Node, ...]) -> str:
        if self._is_lane(node):
            return "lane"
        kinds = {self._known.get(it, "") for it in inputs} - {""}
        if not self._keys.isdisjoint(node.inputs):
            kinds.add("drawn")
        return kinds.pop() if len(kinds) == 1 else "both" if kinds else ""

    def _is_lane(self, node: Node) -> bool:
        """Whether something is one lane of what is mapped there, not of a map inside of it."""
        is_lane = node.operation == "lane" and bool(node.inputs)
        return is_lane and self._region in node.varies - node.inputs[0].varies
