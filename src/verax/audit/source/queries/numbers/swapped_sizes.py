"""Reshapes that name the sizes of what they are given, or was merged, in another order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...events import Call
from ...graph import Node
from ...shaping import size_symbol
from ...values import Constant, Data, Sequence, Value
from .merged_sizes import MERGING, keeps_order

_MOST_AXES = 8
_MOST_NODES = 60


def swapped_axes(call: Call) -> list[int]:
    """`x.reshape(x.shape[1], x.shape[0])`: the axes of `x` in the order of the new sizes.

    Also if `x` was merged before, by a reshape that nothing has changed the order since. Empty
    where that is their own order, or where it is not known.
    """
    array = call.args[0] if call.args else None
    if not isinstance(array, Data):
        return []
    given = [*call.args[1:], *(call.keywords.get(it) for it in ("shape", "newshape"))]
    for owner in (array.node, *merged_from(array.node)):
        shape = (owner.children or {}).get(("static", "shape"))
        if shape is None:
            continue
        own = {size_symbol(shape, axis): axis for axis in range(_MOST_AXES)}
        found = [own[size] for size in _leading(given) if size in own]
        if found != sorted(found):
            return found
    return []


def merged_from(node: Node) -> list[Node]:
    """What a reshape has merged, with its elements where they were since; if it is one array."""
    found: set[Node] = set()
    pending, seen = [node], {node}
    while pending and len(seen) < _MOST_NODES:
        node = pending.pop()
        if node.operation.rpartition(".")[2] in MERGING and node.inputs:
            found.add(node.inputs[0])
        elif keeps_order(node):
            new = [it for it in node.inputs if it not in seen]
            seen.update(new)
            pending += new
    return list(found) if len(found) == 1 else []


def _leading(given: Iterable[Value | None]) -> Iterator[object]:
    """The sizes that are written out, up to one that is not: `(n, m) + x.shape[2:]`."""
    for value in given:
        if isinstance(value, Constant):
            yield value.value
        elif isinstance(value, Sequence):
            yield from _leading(value.items or ())
        elif isinstance(value, Data):
            operands = value.node.operands if value.node.operation == "+" else ()
            yield from _leading(operands[:1])
            return
