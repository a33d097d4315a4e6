"""Roots and logarithms of a variance that is the mean of squares less the square of the mean.

The two are nearly equal where the mean is large against the spread, and rounding decides the sign.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...operations import AVERAGES, SQUARES, bare
from ...values import Constant, Data, Value
from ..arrays import calls_of
from ..sameness import Sameness

if TYPE_CHECKING:
    from ...facts import SourceFacts

_MEANS = bare(AVERAGES) | {"pmean"}


@dataclass(frozen=True, eq=False)
class Difference:
    """A call that needs a positive number, and the difference that it is given as it is."""

    name: str
    call: Node
    difference: Node


def of_moments(facts: SourceFacts) -> Iterator[Difference]:
    """All such calls."""
    same = Sameness()
    for call in calls_of(facts, "sqrt", "rsqrt", "log"):
        given = call.args[0] if call.args else None
        if not isinstance(given, Data) or not isinstance(call.result, Data):
            continue
        if _is_variance(given.node, same):
            yield Difference(call.name.rpartition(".")[2], call.result.node, given.node)


def _is_variance(node: Node, same: Sameness) -> bool:
    if node.operation != "-" or len(node.operands) != 2:
        return False
    of_squares, square = (it.node if isinstance(it, Data) else None for it in node.operands)
    mean = _root(square) if square is not None else None
    if of_squares is None or mean is None:
        return False
    return any(
        are(of_squares, mean, same) for are in (_are_means, _are_quotients, _are_moving_averages)
    )


def _are_means(of_squares: Node, mean: Node, same: Sameness) -> bool:
    """`jnp.mean(x**2)` and `jnp.mean(x)`."""
    for _ in range(4):
        if not (_is_mean(of_squares) and _is_mean(mean) and of_squares.inputs and mean.inputs):
            return False
        of_squares, mean = of_squares.inputs[0], mean.inputs[0]
        root = _root(of_squares)
        if root is not None and same.are(root, mean):
            return True
    return False


def _is_mean(node: Node) -> bool:
    return node.operation.rpartition(".")[2] in _MEANS


def _are_quotients(of_squares: Node, mean: Node, same: Sameness) -> bool:
    """`squares / count` and `total / count`."""
    if of_squares.operation != "/" or mean.operation != "/":
        return False
    divisors = [it.operands[1] for it in (of_squares, mean) if len(it.operands) == 2]
    return len(divisors) == 2 and _are_same(divisors[0], divisors[1], same)


def _are_moving_averages(of_squares: Node, mean: Node, same: Sameness) -> bool:
    """`keep * second + new * x**2` and `keep * first + new * x`."""
    if of_squares.operation != "+" or mean.operation != "+":
        return False
    squares, plain = ([_factors(it, same) for it in node.operands] for node in (of_squares, mean))
    if len(squares) != 2 or len(plain) != 2:
        return False
    return any(
        _is_once_more(squares[at], plain[of]) and _have_one_weight(squares[1 - at], plain[1 - of])
        for at in (0, 1)
        for of in (0, 1)
    )


def _factors(value: Value, same: Sameness) -> Counter[Hashable]:
    """What a product consists of, and how often; a square is a factor twice."""
    if isinstance(value, Constant):
        return Counter((("number", repr(value.value)),))
    if not isinstance(value, Data):
        return Counter((("value", id(value)),))
    root = _root(value.node)
    if root is not None:
        once = _factors(Data(root), same)
        return once + once
    if value.node.operation == "*":
        return sum((_factors(it, same) for it in value.node.operands), Counter[Hashable]())
    return Counter((same.number(value.node),))


def _is_once_more(more: Counter[Hashable], less: Counter[Hashable]) -> bool:
    """Whether a product has one factor once more than another product, which has it, too."""
    left = more - less
    return not less - more and left.total() == 1 and all(it in less for it in left)


def _have_one_weight(one: Counter[Hashable], other: Counter[Hashable]) -> bool:
    """Whether two products are of one value each with what they have in common."""
    return (one & other).total() > 0 and (one - other).total() == (other - one).total() == 1


def _are_same(one: Value, other: Value, same: Sameness) -> bool:
    if isinstance(one, Data) and isinstance(other, Data):
        return same.are(one.node, other.node)
    if isinstance(one, Constant) and isinstance(other, Constant):
        return bool(one.value == other.value)
    return False


def _root(node: Node) -> Node | None:
    """What a value is the square of."""
    if node.operation in SQUARES and node.inputs:
        return node.inputs[0]
    if node.operation not in ("**", "*") or len(node.operands) != 2:
        return None
    base, other = node.operands
    if not isinstance(base, Data):
        return None
    if node.operation == "**":
        return base.node if isinstance(other, Constant) and other.value == 2 else None
    return base.node if isinstance(other, Data) and other.node is base.node else None
