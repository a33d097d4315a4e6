"""Factors that come into a value twice: by hand, by a mean, by a helper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....words import words_of
from ...graph import Node
from ...values import Data
from ..nodes import names_axis, nodes_by
from .meaning import first_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts

_MEANS = frozenset(("jax.numpy.mean", "ndarray.mean"))
_SUMS = frozenset(("jax.numpy.sum", "ndarray.sum"))
_COEFFICIENTS = frozenset("beta coef coeff coefficient weight lam lambda alpha scale".split())
_LINEAR = frozenset(("*", "/", "-x", "stack", "lane", "primal", *_MEANS, *_SUMS))


def averaged_weights(facts: SourceFacts) -> Iterator[tuple[Node, Node]]:
    """Means over products with weights that sum to one already, each with the weights."""
    for mean in nodes_by(facts, _MEANS):
        if names_axis(mean) is not False or not mean.inputs:
            continue
        product = mean.inputs[0]
        for operand in product.operands if product.operation == "*" else ():
            weights = (
                first_behind(operand.node, _sums_to_one) if isinstance(operand, Data) else None
            )
            if weights is not None:
                yield mean, weights


def _sums_to_one(node: Node) -> bool:
    """Whether it is `weights / weights.sum()`."""
    if node.operation != "/" or len(node.inputs) != 2:
        return False
    weights, total = node.inputs
    return (
        total.operation in _SUMS and total.inputs[:1] == (weights,) and names_axis(total) is False
    )


def scaled_twice(facts: SourceFacts) -> Iterator[tuple[Node, Node, str]]:
    """Products with a coefficient that another function has multiplied in: both, and its name."""
    for node in nodes_by(facts, ("*",)):
        if len(node.inputs) != 2 or node.inputs[0] is node.inputs[1]:
            continue
        for factor, rest in (node.inputs, node.inputs[::-1]):
            name = factor.label if factor.operation in ("parameter", "field", "argument") else ""
            if not name or _COEFFICIENTS.isdisjoint(words_of(name)):
                continue
            before = _product_with(factor, rest)
            if before is not None and before.frame is not node.frame:
                yield node, before, name


def _product_with(factor: Node, node: Node) -> Node | None:
    """What multiplies by a factor on the way to a value, with nothing added in between."""
    for _ in range(12):
        if node.operation == "*" and factor in node.inputs:
            return node
        if node.operation not in _LINEAR or not node.inputs:
            return None
        node = node.inputs[0]
    return None
