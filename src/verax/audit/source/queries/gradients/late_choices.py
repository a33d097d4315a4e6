"""Choices that leave a number out of a result but not out of its derivative."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ...operations import COMPARISONS, MODULES, SELECTIONS
from ...values import Constant, Data, Value
from .flows import Flow

# Their derivative is infinite at zero.
_SINGULAR = frozenset("log log2 log10 sqrt reciprocal rsqrt cbrt".split())
# Beyond, zero is far from where the choice is made.
_SMALL = 1e-2


@dataclass(frozen=True, eq=False)
class LateChoice:
    """`where(x > 0, f(x), other)` with a function whose derivative is infinite at zero."""

    choice: Node
    operation: Node
    operand: Node


def late_choices(flow: Flow) -> Iterator[LateChoice]:
    """All such choices on the way of a gradient."""
    for node in flow.order:
        if node.operation not in SELECTIONS or len(node.operands) != 3:
            continue
        if node not in flow.trained_through or flow.context.is_custom(node):
            continue
        compared = _compared_with_zero(node.operands[0])
        if compared is None:
            continue
        for branch in node.operands[1:]:
            found = _singular(flow, branch, compared) if isinstance(branch, Data) else None
            if found is not None:
                yield LateChoice(node, found, compared)
                break


def _compared_with_zero(value: Value) -> Node | None:
    """What a condition compares with zero, or with a small number."""
    if not isinstance(value, Data) or value.node.operation not in COMPARISONS:
        return None
    operands = value.node.operands
    if len(operands) != 2:
        return None
    for one, other in (operands, operands[::-1]):
        number = other.value if isinstance(other, Constant) else None
        if isinstance(one, Data) and isinstance(number, (int, float)) and abs(number) <= _SMALL:
            return one.node
    return None


def _singular(flow: Flow, branch: Data, compared: Node) -> Node | None:
    """The operation on what is compared whose derivative is infinite there."""
    for node in flow.slice([branch.node]):
        module, _, name = node.operation.rpartition(".")
        operand: Value | None = None
        if module in MODULES and name in _SINGULAR and node.operands:
            operand = node.operands[0]
        elif node.operation == "/" and len(node.operands) == 2:
            operand = node.operands[1]
        if not isinstance(operand, Data) or not flow.gets(operand.node):
            continue
        if any(flow.same.are(it, compared) for it in _factors(operand.node)):
            return node
    return None


def _factors(node: Node) -> Iterator[Node]:
    """A value, and what makes it zero by being zero itself."""
    pending = [node]
    for _ in range(8):
        if not pending:
            return
        current = pending.pop()
        yield current
        if current.operation == "*":
            pending.extend(current.inputs)
