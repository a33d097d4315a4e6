"""Reshapes that name the sizes of what they are given in another order, whatever they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...events import Call
from ...shaping import size_symbol
from ...values import Constant, Data, Sequence, Value

_MOST_AXES = 8


def swapped_axes(call: Call) -> list[int]:
    """`x.reshape(x.shape[1], x.shape[0])`: the axes of `x` in the order of the new sizes.

    Empty where that is their own order, or where it is not known.
    """
    array = call.args[0] if call.args else None
    children = array.node.children if isinstance(array, Data) else None
    shape = children.get(("static", "shape")) if children is not None else None
    if shape is None:
        return []
    own = {size_symbol(shape, axis): axis for axis in range(_MOST_AXES)}
    given = [*call.args[1:], *(call.keywords.get(it) for it in ("shape", "newshape"))]
    found = [own[size] for size in _leading(given) if size in own]
    return found if found != sorted(found) else []


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
