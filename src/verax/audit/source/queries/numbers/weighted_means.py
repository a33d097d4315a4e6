"""Weighted means of each element of an axis, that are divided by the weight of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import CLIPS, MAXIMA, SUMS
from ...shapes.dims import same
from ...shapes.shape import rank
from ...values import Constant, Data
from ..nodes import all_nodes, names_axis, users_of
from .masks import without_view

if TYPE_CHECKING:
    from ...facts import SourceFacts

_BOUNDS = MAXIMA | CLIPS


@dataclass(frozen=True, eq=False)
class ByAll:
    """A quotient of a sum for each element and the sum of the weights of all."""

    quotient: Node
    total: Node
    weights: Node


def divided_by_all(facts: SourceFacts) -> Iterator[ByAll]:
    """Quotients of weighted sums that keep an axis of the weights, and of all the weights."""
    found = [it for node in all_nodes(facts) for it in _by_all(node)]
    users = users_of(facts) if found else {}
    for it in found:
        # What is added up again is a mean over all.
        if not any(user.operation in SUMS for user in users.get(it.quotient, ())):
            yield it


def _by_all(node: Node) -> Iterator[ByAll]:
    if node.operation != "/" or len(node.inputs) != 2:
        return
    total = _unbounded(node.inputs[1])
    if total.operation not in SUMS or names_axis(total) is not False or total.shape != ():
        return
    summed = total.inputs[0]
    if (rank(summed.shape) or 0) < 2:
        return
    weights = without_view(summed)
    if any(without_view(it) is weights for it in _factors(node.inputs[0])):
        kept = node.inputs[0].shape
        if isinstance(kept, tuple) and kept and kept[0] != 1 and same(kept[0], summed.shape[0]):
            yield ByAll(node, total, weights)


def _unbounded(node: Node) -> Node:
    """A sum without what keeps it from being zero: `maximum(x, 1)`, `x + 1e-6`."""
    for _ in range(4):
        is_shifted = node.operation == "+" and any(isinstance(it, Constant) for it in node.operands)
        if not node.inputs or not (is_shifted or node.operation in _BOUNDS):
            break
        node = node.inputs[0]
    return node


def _factors(node: Node) -> list[Node]:
    """The factors of the products that a value is the sum of."""
    if node.operation in SUMS and node.inputs:
        product = node.inputs[0]
        return list(product.inputs) if product.operation == "*" else []
    if node.operation == "jax.numpy.einsum":
        return [it.node for it in node.operands[1:] if isinstance(it, Data)]
    return []
