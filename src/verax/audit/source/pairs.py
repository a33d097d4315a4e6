"""Tables of all pairs of the elements of one axis: causal masks, unit matrices."""

from __future__ import annotations

from .graph import Node
from .shapes import Size
from .shapes.names import without_name

_MAKING = ("jax.numpy.", "numpy.", "jax.lax.")
_FEW = 20


def open_pairs(node: Node) -> None:
    """Leave open what the axes of a table of all pairs mean, if it is made from their size alone.

    A causal mask of `n` by `n` is one of queries and keys, whichever of them `n` was asked of.
    """
    shape = node.shape if isinstance(node.shape, tuple) else ()
    twice = [dim for dim in shape if isinstance(dim, Size) and shape.count(dim) > 1]
    if twice and _is_of_sizes(node):
        node.shape = tuple(without_name(dim) if dim in twice else dim for dim in shape)


def _is_of_sizes(node: Node) -> bool:
    """Whether nothing but sizes goes into an array."""
    pending, seen = [node], {node}
    while pending and len(seen) < _FEW:
        it = pending.pop()
        if not it.inputs and not it.operation.startswith(_MAKING):
            return False
        new = [one for one in it.inputs if one not in seen and it.operation != "static"]
        seen.update(new)
        pending.extend(new)
    return not pending
