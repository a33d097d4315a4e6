"""Factors that come into a value twice: by hand, by a mean, by a helper."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from ....words import words_of
from ...graph import Node
from ...operations import MEANS, SUMS
from ...values import Constant, Data
from ..nodes import names_axis, nodes_by
from .meaning import first_behind, written_name

if TYPE_CHECKING:
    from ...facts import SourceFacts

_COEFFICIENTS = frozenset("beta coef coeff coefficient weight lam lambda alpha scale".split())
_LINEAR = frozenset(("*", "/", "-x", "stack", "slice", "lane", "primal", *MEANS, *SUMS))


def averaged_weights(facts: SourceFacts) -> Iterator[tuple[Node, Node]]:
    """Means over products with weights that sum to one already, each with the weights."""
    for mean in nodes_by(facts, MEANS):
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
    return total.operation in SUMS and total.inputs[:1] == (weights,) and names_axis(total) is False


def scaled_twice(facts: SourceFacts) -> Iterator[tuple[Node, Node, str]]:
    """Products with a coefficient that another function has multiplied in: both, and its name."""
    for node in nodes_by(facts, ("*",)):
        for factor, name, rest in _coefficients(node):
            before = _product_with(factor, rest)
            if before is not None and before.frame is not node.frame:
                yield node, before, name


def _coefficients(node: Node) -> Iterator[tuple[Hashable, str, Node]]:
    """The operands of a product that are called a coefficient, each with what it multiplies.

    One that is a number is known again by what it is called.
    """
    operands = node.operands if len(node.operands) == 2 else ()
    if len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]:
        return
    for factor, rest in (operands, operands[::-1]) if operands else ():
        if not isinstance(rest, Data):
            continue
        name = written_name(node, factor)
        known: Hashable = (name, repr(factor.value)) if isinstance(factor, Constant) else None
        if isinstance(factor, Data):
            is_given = factor.node.operation in ("parameter", "field", "argument")
            name, known = factor.node.label if is_given else "", factor.node
        if name and not _COEFFICIENTS.isdisjoint(words_of(name)):
            yield known, name, rest.node


def _product_with(factor: Hashable, node: Node) -> Node | None:
    """What multiplies by a factor on the way to a value, with nothing added in between."""
    for _ in range(12):
        if node.operation == "*" and any(it == factor for it, _, _ in _coefficients(node)):
            return node
        if node.operation not in _LINEAR or not node.inputs:
            return None
        node = node.inputs[0]
    return None
