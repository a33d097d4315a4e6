"""Values that the turns of a loop only collect: sums, products, maxima, rows of a table."""

from __future__ import annotations

from ...graph import Node
from ...operations import JOINS, bare

_COLLECTING = frozenset("+ - * | & ^ maximum minimum logaddexp logical_or logical_and add".split())

_SHIFTING = (bare(JOINS) - {"stack"}) | {"append", "roll"}


def is_collected(before: Node, after: Node) -> bool:
    """Whether turns only add to a value, or multiply it: in which order does not matter then."""
    ends = after.inputs if after.operation == "join" else (after,)
    ends = [it for it in ends if it is not before and it.depends_on(before)]
    return bool(ends) and all(
        it.operation.rpartition(".")[2] in _COLLECTING and before in it.inputs for it in ends
    )


def is_filled(before: Node, after: Node) -> bool:
    """Whether turns write into a value at some index, or shift something in."""
    if after.operation.rpartition(".")[2] in _SHIFTING:
        return True
    seen, pending = {before}, [after]
    while pending:
        node = pending.pop()
        if node in seen or not node.depends_on(before):
            continue
        seen.add(node)
        if node.operation.startswith(("at.", "jax.lax.dynamic_update", "jax.lax.scatter")):
            return True
        pending += node.inputs
    return False
