"""Straight-through estimators: the value of one thing with the gradient of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ...values import Data, Value
from .flatness import STOP, STOPPED
from .flows import Flow

_DEEPEST = 6


@dataclass(frozen=True, eq=False)
class StraightThrough:
    """`source + stop_gradient(value - source)`: has one's value and the other's gradient."""

    node: Node
    forward: Node
    source: Node


def straight_through(flow: Flow) -> Iterator[StraightThrough]:
    """All places with the value of one and the gradient of another."""
    for node in flow.order:
        if node.operation not in ("+", "-") or len(node.operands) != 2:
            continue
        left, right = (_single(it) for it in node.operands)
        if left is None or right is None:
            continue
        pairs = [(left, right)] if node.operation == "-" else [(left, right), (right, left)]
        for source, stopped in pairs:
            inner = _single_input(stopped) if stopped.operation == STOP else None
            if inner is None or inner.operation != "-" or len(inner.operands) != 2:
                continue
            # source + stop(forward - source), or source - stop(source - forward).
            forward, other = (_single(it) for it in inner.operands)
            if node.operation == "-":
                forward, other = other, forward
            if forward is not None and other is not None and flow.same.are(other, source):
                yield StraightThrough(node, forward, source)


def is_reversed(flow: Flow, it: StraightThrough) -> bool:
    """Whether a straight-through estimator takes its gradient from what has none."""
    lost = flow.uses(it.source) & ~flow.gets(it.source)
    return bool(flow.gets(it.forward) & lost)


def opposed(flow: Flow) -> Iterator[tuple[Node, Node, bool]]:
    """Sums whose value has nothing of a term, and whose gradient has that term's with a minus.

    `stop_gradient(hard + soft) - soft` is `hard`, and goes down where `soft` goes up. Where all is
    stopped, the gradient has nothing of the term either, which the last of the three tells.
    """
    inner: set[Node] = set()
    for node in reversed(flow.order):
        if node.operation not in ("+", "-") or node in inner:
            continue
        terms: dict[Node, tuple[int, int]] = {}
        has_stop = _add(node, 1, 1, terms, inner, 0)
        if not has_stop:
            continue
        forward = [it for it, (value, _) in terms.items() if value]
        for term, (value, slope) in terms.items():
            if value or slope > 0 or not any(_is_cut(flow, it, term) for it in forward):
                continue
            yield node, term, slope == 0


def _is_cut(flow: Flow, node: Node, term: Node) -> bool:
    """Whether a value is one with its gradient cut off: by rounding, not on purpose.

    A return less the value that it was made from is to pull on that value alone.
    """
    if not flow.uses(node) & ~flow.gets(node) & flow.gets(term):
        return False
    reached = flow.slice([node])
    return all(flow.blocker(source, it) != STOPPED for it in reached for source in flow.sources(it))


def _add(
    node: Node,
    value: int,
    slope: int,
    terms: dict[Node, tuple[int, int]],
    inner: set[Node],
    depth: int,
) -> bool:
    """Add to the terms what a sum is made of: how often its value has each, and its gradient."""
    if node.operation == STOP and len(node.inputs) == 1:
        _add(node.inputs[0], value, 0, terms, inner, depth + 1)
        return True
    operands = [_single(it) for it in node.operands]
    is_sum = node.operation in ("+", "-") and len(operands) == 2
    if depth < _DEEPEST and is_sum and None not in operands:
        inner.add(node)
        sign = 1 if node.operation == "+" else -1
        first, second = (it for it in operands if it is not None)
        stops = _add(first, value, slope, terms, inner, depth + 1)
        return _add(second, sign * value, sign * slope, terms, inner, depth + 1) or stops
    before = terms.get(node, (0, 0))
    terms[node] = (before[0] + value, before[1] + slope)
    return False


def _single(value: Value) -> Node | None:
    return value.node if isinstance(value, Data) else None


def _single_input(node: Node) -> Node | None:
    return node.inputs[0] if len(node.inputs) == 1 else None
