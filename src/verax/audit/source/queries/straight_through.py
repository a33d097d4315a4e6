"""Straight-through estimators: the value of one thing with the gradient of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..graph import Node
from ..values import Data, Value
from .flatness import STOP
from .gradients import Flow


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


def _single(value: Value) -> Node | None:
    return value.node if isinstance(value, Data) else None


def _single_input(node: Node) -> Node | None:
    return node.inputs[0] if len(node.inputs) == 1 else None
