"""Values that the turns of a loop only collect: sums, products, maxima."""

from __future__ import annotations

from ...graph import Node

_COLLECTING = frozenset("+ - * | & ^ maximum minimum logaddexp logical_or logical_and add".split())


def is_collected(before: Node, after: Node) -> bool:
    """Whether turns only add to a value, or multiply it: in which order does not matter then."""
    ends = after.inputs if after.operation == "join" else (after,)
    ends = [it for it in ends if it is not before and it.depends_on(before)]
    return bool(ends) and all(
        it.operation.rpartition(".")[2] in _COLLECTING and before in it.inputs for it in ends
    )
