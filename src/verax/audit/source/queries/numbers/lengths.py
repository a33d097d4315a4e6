"""Vectors that are compared by their products, and by which length they were divided before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import CONTRACTIONS, TRANSPOSES
from ...shapes.shape import rank
from ...values import Constant, Data
from ..arrays import calls_of
from ..nodes import names_axis, nodes_by

if TYPE_CHECKING:
    from ...facts import SourceFacts

# They leave the lengths of rows what they are.
_KEEPING = TRANSPOSES | {"field"}


@dataclass(frozen=True, eq=False)
class Lengths:
    """Two arrays of vectors, each divided by the norm of all of it, that are multiplied."""

    norm: Node
    product: Node


def divided_by_one_length(facts: SourceFacts) -> Iterator[Lengths]:
    """Products of vectors that were to have length one, each on its own."""
    norms = {
        call.result.node
        for call in calls_of(facts, "norm")
        if isinstance(call.result, Data) and _is_of_all(call.result.node)
    }
    if not norms:
        return
    told: set[Node] = set()
    for node in nodes_by(facts, CONTRACTIONS):
        given = [it.node for it in node.operands if isinstance(it, Data)]
        found = [_norm_of(it, norms) for it in given]
        # A matrix times itself, as it is made orthogonal, needs one length only.
        if len(found) == 2 and None not in found and found[0] is not found[1]:
            new = [it for it in found if it is not None and it not in told]
            told.update(new)
            yield from (Lengths(it, node) for it in new)


def _is_of_all(norm: Node) -> bool:
    """Whether a norm goes over all axes of several vectors."""
    of = norm.inputs[0] if norm.inputs else None
    is_plain = names_axis(norm) is False and norm.shape == () and of is not None
    return is_plain and of is not None and (rank(of.shape) or 0) == 2 and 1 not in of.shape


def _norm_of(node: Node, norms: set[Node]) -> Node | None:
    """The norm by which an array is divided that is its own."""
    for _ in range(4):
        if node.operation not in _KEEPING or not node.inputs:
            break
        node = node.inputs[0]
    if node.operation != "/" or len(node.inputs) != 2:
        return None
    of, length = node.inputs
    is_shifted = length.operation == "+" and any(isinstance(it, Constant) for it in length.operands)
    if (is_shifted or length.operation == "jax.numpy.maximum") and length.inputs:
        length = length.inputs[0]
    return length if length in norms and length.inputs[:1] == (of,) else None
