"""What a value is made from element by element, so that it could stand in its place."""

from __future__ import annotations

from collections.abc import Iterator

from ...graph import Node
from ...operations import MAXIMA, MINIMA, MODULES
from ...values import Data

_UNARY = frozenset(
    "clip tanh abs absolute exp log log1p expm1 sqrt square nan_to_num relu sigmoid gelu silu "
    "softplus astype negative reciprocal sin cos floor round".split()
)
# Of these the first operand is changed by the second.
_FIRST = frozenset(("-", "/", "**"))
_EITHER = MINIMA | MAXIMA | {"+", "*"}


def versions_of(node: Node) -> Iterator[tuple[Node, bool]]:
    """What a value is made from element by element, and whether that is its only main operand.

    `height * width` is a version of neither, but `scaled_x = x * scale` one of `x`.
    """
    pending = [(node, True)]
    seen: set[Node] = set()
    while pending and len(seen) < 50:
        current, is_clear = pending.pop()
        if current in seen:
            continue
        seen.add(current)
        if current is not node:
            yield current, is_clear
        operands = _main_operands(current)
        pending.extend((it, is_clear and len(operands) < 2) for it in operands)


def _main_operands(node: Node) -> list[Node]:
    operation, operands = node.operation, node.operands
    module, _, name = operation.rpartition(".")
    if operation in _EITHER:
        both = [it.node for it in operands if isinstance(it, Data)]
        return [it for it in both if it.shape != ()] or both
    if operation in _FIRST or (module in MODULES and name in _UNARY):
        first = operands[0] if operands else None
        return [first.node] if isinstance(first, Data) else []
    return list(node.inputs) if operation == "-x" else []


def is_made_anew(live: set[Node], source: Node, value: Node) -> bool:
    """Whether the source is used for what the value was to be, in another way.

    `averaged(momentum) / averaged(density)` has no use for `velocity = momentum / density`.
    """
    others = _beside(value, source)
    alike = [it for it in live if it.operation == value.operation]
    for beside in (_beside(it, source) for it in alike):
        if beside is not None and others is not None and (beside & others or not beside | others):
            return True
    return False


def _beside(node: Node, source: Node) -> set[Node] | None:
    """What an operation does something with to what is made from a source; `None` if it does not.

    With what that is made from itself, element by element.
    """
    if node.operation in _FIRST and len(node.inputs) > 1:
        first, *rest = node.inputs
        return _all_of(rest) if first.depends_on(source) else None
    rest = [it for it in node.inputs if source not in _all_of([it])]
    return _all_of(rest) if len(rest) < len(node.inputs) else None


def _all_of(nodes: list[Node]) -> set[Node]:
    return {it for node in nodes for it in (node, *(source for source, _ in versions_of(node)))}
