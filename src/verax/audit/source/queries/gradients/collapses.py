"""Losses that compare predictions of one model with one another, and with nothing else.

With no data to hold it, a model makes such a loss zero by giving the same for everything. What
keeps it from that is that the side without a predictor is a constant.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....predictions import is_model_elsewhere
from ...graph import Node
from ..arithmetic import difference_of
from ..arrays import origin
from .bootstraps import Bootstrap, shapes_of
from .flows import Flow
from .loss_terms import Error, Term, multiplied, squared, terms


def collapses(flow: Flow) -> Iterator[Bootstrap]:
    """Comparisons of a predictor of a model's output with the output itself, both trained."""
    whole = terms(flow, [Term(node, 1) for node in flow.results])
    parts = [it.node for it in whole if flow.uses(it.node)]
    sides = [_sides(flow, it) for it in parts]
    if not parts or None in sides:
        return
    shapes = shapes_of(flow)
    for node, pair in zip(parts, sides, strict=True):
        for predicted, wanted in (pair, pair[::-1]) if pair is not None else ():
            own, common = flow.gets(predicted), flow.gets(wanted)
            if not common or own & common != common or own == common:
                continue
            if is_model_elsewhere(flow, shapes, (), predicted, wanted):
                yield Bootstrap(Error([], node, node), predicted, wanted, False)


def _sides(flow: Flow, term: Node) -> tuple[Node, Node] | None:
    """The two trained values that a term compares: by a squared difference or by their angle."""
    inside = squared(term)
    pair = difference_of(origin(inside)) if inside is not None else _angle(term)
    if pair is None or not all(flow.uses(it) and flow.is_data(it) for it in pair):
        return None
    return pair


def _angle(term: Node) -> tuple[Node, Node] | None:
    """The factors of a product, if each is divided by something that is made from itself."""
    factors = multiplied(term)
    if factors is None or factors[0] is factors[1]:
        return None
    return factors if all(_is_unit(origin(it)) for it in factors) else None


def _is_unit(node: Node) -> bool:
    if node.operation != "/" or len(node.inputs) != 2:
        return False
    above, below = node.inputs
    pending, seen = [below], {below}
    while pending:
        current = pending.pop()
        if current is above:
            return True
        new = [it for it in current.inputs if it not in seen]
        seen.update(new)
        pending += new if len(seen) < 50 else []
    return False
