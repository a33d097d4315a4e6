"""Choices that put a zero where it is divided by, and leave the result out again afterwards.

`where(ok, scale / where(ok, x, 0.0), 0.0)` is right forwards. Backwards, what `scale` gets from the
elements that are left out is zero times infinity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ...operations import POWERS, RECIPROCALS, SELECTIONS
from ...values import Constant, Data, Value
from ..arrays import origin
from .flows import Flow


@dataclass(frozen=True, eq=False)
class FilledPole:
    """A choice with a zero, and the operation in which that makes a derivative nan."""

    choice: Node
    operation: Node


def filled_poles(flow: Flow) -> Iterator[FilledPole]:
    """All such choices, once each."""
    poles: dict[Node, Node] = {}  # what is infinite, and the choice that makes it so
    told: set[Node] = set()
    for node in flow.order:
        if node not in flow.trained_through:
            continue
        choice = _divides_by_filled(node)
        trained = node.operands[0] if choice is not None and node.operation == "/" else None
        if choice is None:
            choice, trained = _goes_on(node, poles)
        if choice is None:
            continue
        poles[node] = choice
        is_trained = isinstance(trained, Data) and bool(flow.gets(trained.node))
        if is_trained and choice not in told and not flow.context.is_custom(node):
            told.add(choice)
            yield FilledPole(choice, node)


def _divides_by_filled(node: Node) -> Node | None:
    """The choice with a zero that an operation is infinite for."""
    operands = node.operands
    if node.operation in RECIPROCALS and operands:
        return _filled(operands[0])
    if len(operands) != 2:
        return None
    if node.operation == "/":
        return _filled(operands[1])
    power = operands[1].value if isinstance(operands[1], Constant) else None
    is_negative = isinstance(power, (int, float)) and power < 0
    return _filled(operands[0]) if node.operation in POWERS and is_negative else None


def _filled(value: Value) -> Node | None:
    """The choice between something and zero that a value is, or is a power of."""
    node = origin(value.node) if isinstance(value, Data) else None
    while node is not None and node.operation in POWERS and node.operands:
        base = node.operands[0]
        node = origin(base.node) if isinstance(base, Data) else None
    if node is None or node.operation not in SELECTIONS or len(node.operands) != 3:
        return None
    return node if any(_is_zero(it) for it in node.operands[1:]) else None


def _is_zero(value: Value) -> bool:
    return isinstance(value, Constant) and value.value in (0, 0.0) and value.value is not False


def _goes_on(node: Node, poles: dict[Node, Node]) -> tuple[Node | None, Value | None]:
    """The choice behind a product with what is infinite, and the other factor."""
    operands = node.operands
    if node.operation in POWERS and operands and isinstance(operands[0], Data):
        return poles.get(operands[0].node), None
    if node.operation != "*" or len(operands) != 2:
        return None, None
    for one, other in (operands, operands[::-1]):
        choice = poles.get(one.node) if isinstance(one, Data) else None
        if choice is not None:
            return choice, other
    return None, None
