"""Moving averages: what is mixed of something old and something new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...graph import Node
from ...shapes.dims import same
from ...values import Constant, Data, Value
from ..nodes import all_nodes, without_scale

if TYPE_CHECKING:
    from ...facts import SourceFacts

_STATISTICS = frozenset("mean var std average median nanmean nanvar nanstd".split())


def mixed(node: Node) -> tuple[Node, Node] | None:
    """The two values that a node is a mixture of, with weights that sum to one."""
    if node.operation != "+" or len(node.operands) != 2:
        return None
    one, other = map(_product, node.operands)
    if one is not None and other is not None and _sum_to_one(one[0], other[0]):
        return one[1], other[1]
    first, second = node.operands
    return _moved(first, second) or _moved(second, first)


def _moved(old: Value, step: Value) -> tuple[Node, Node] | None:
    """The parts of `old + rate * (new - old)`."""
    if not isinstance(old, Data) or not isinstance(step, Data):
        return None
    for factor in _factors(step.node):
        new, before = (
            (*factor.operands, None, None)[:2] if factor.operation == "-" else (None, None)
        )
        if isinstance(new, Data) and isinstance(before, Data) and before.node is old.node:
            return old.node, new.node
    return None


def _factors(node: Node, depth: int = 4) -> Iterator[Node]:
    """What a product or a quotient is made of, where it is no number."""
    for it in node.operands if node.operation in ("*", "/") and depth else ():
        if isinstance(it, Data):
            yield it.node
            yield from _factors(it.node, depth - 1)


def _product(value: Value) -> tuple[Value, Node] | None:
    """A weight and what it multiplies."""
    node = value.node if isinstance(value, Data) else None
    if node is None or node.operation != "*" or len(node.operands) != 2:
        return None
    weight, of = node.operands
    if isinstance(of, Constant):
        weight, of = of, weight
    return (weight, of.node) if isinstance(of, Data) else None


def _sum_to_one(one: Value, other: Value) -> bool:
    if isinstance(one, Constant) and isinstance(other, Constant):
        numbers = (one.value, other.value)
        return all(isinstance(it, (int, float)) for it in numbers) and abs(sum(numbers) - 1) < 1e-9
    return _is_rest(one, other) or _is_rest(other, one)


def _is_rest(value: Value, of: Value) -> bool:
    """Whether a value is one minus another one."""
    if not isinstance(value, Data) or not isinstance(of, Data) or value.node.operation != "-":
        return False
    first, *rest = value.node.operands or (None,)
    is_one = isinstance(first, Constant) and first.value == 1
    return is_one and len(rest) == 1 and isinstance(rest[0], Data) and rest[0].node is of.node


@dataclass(frozen=True, eq=False)
class OtherAxes:
    """A statistic that is mixed into `old`, which has the last axes of what it is taken `of`."""

    statistic: Node
    of: Node
    old: Node
    mixture: Node


def statistics_over_other_axes(facts: SourceFacts) -> Iterator[OtherAxes]:
    """Statistics that leave more axes than the average has that they renew, or none."""
    for node in all_nodes(facts):
        pair = mixed(node)
        for old, new in (pair, pair[::-1]) if pair is not None else ():
            statistic = without_scale(new)
            if statistic.operation.rpartition(".")[2] not in _STATISTICS or not statistic.inputs:
                continue
            of = statistic.inputs[0]
            # An array that is mixed with its own mean loses contrast, which may be meant.
            if _leaves_other_axes(old, statistic, of) and not of.depends_on(old):
                yield OtherAxes(statistic, of, old, node)


def _leaves_other_axes(old: Node, statistic: Node, of: Node) -> bool:
    kept, left, whole = old.shape, statistic.shape, of.shape
    if not (isinstance(kept, tuple) and isinstance(left, tuple) and isinstance(whole, tuple)):
        return False
    count = len(kept)
    if not 0 < count < len(whole) or any(it == 1 for it in kept):
        return False
    if not all(map(same, kept, whole[-count:])):
        return False
    return not left or (len(left) > count and any(it != 1 for it in left[:-count]))
