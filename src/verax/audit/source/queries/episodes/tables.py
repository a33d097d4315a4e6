"""Discounted sums over all later steps, as one product with a table of powers of the discount."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....words import is_reward
from ...graph import Node
from ...operations import CONTRACTIONS, POWERS
from ..loops.bodies import made_from
from ..names import names_of
from ..nodes import nodes_by
from .ends import named_ends
from .errors import has_masked_term

if TYPE_CHECKING:
    from ...facts import SourceFacts


def sums_past_ends(facts: SourceFacts) -> Iterator[Node]:
    """Products that add up rewards or errors of later episodes, where flags are known."""
    for node in nodes_by(facts, CONTRACTIONS):
        if len(node.inputs) != 2 or node.frame is None:
            continue
        ends = {it for _, it in named_ends(node.frame)}
        for table, summed in (node.inputs, node.inputs[::-1]) if ends else ():
            powers = made_from([table])
            if not any(map(_is_power_of_distance, powers)):
                continue
            names = names_of(facts, summed, node.frame)
            is_masked = not ends.isdisjoint(made_from([summed]))
            is_paid = any(map(is_reward, names)) and not is_masked
            is_error = is_masked and has_masked_term(facts, node.frame, summed)
            if ends.isdisjoint(powers) and (is_paid or is_error):
                yield node


def _is_power_of_distance(node: Node) -> bool:
    """Whether something is raised to how far two steps are apart: `gamma ** (j - i)`."""
    if node.operation not in POWERS:
        return False
    return any(
        it.operation == "-"
        and len(it.inputs) == 2
        and all(_is_made_by_counting(side) for side in it.inputs)
        for source in node.inputs
        for it in made_from([source])
    )


def _is_made_by_counting(node: Node) -> bool:
    return any(it.operation == "jax.numpy.arange" for it in made_from([node]))
