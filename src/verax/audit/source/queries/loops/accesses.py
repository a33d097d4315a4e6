"""Elements of arrays that are read or written at a position which the program computes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Call, Event, Fact
from ...graph import Node
from ...operations import WRITES
from ...remember import remembered
from ...values import Constant, Data, Sequence, Value
from ..arrays import argument

if TYPE_CHECKING:
    from ...facts import SourceFacts

_AT = WRITES | {"ndarray.at[].get"}
# Functions that take elements along one axis: where they have the position, and where the axis.
_ALONG = {
    "jax.lax.dynamic_index_in_dim": ((1, "index"), (2, "axis"), 0),
    "jax.lax.dynamic_slice_in_dim": ((1, "start_index"), (3, "axis"), 0),
    "jax.lax.dynamic_update_index_in_dim": ((2, "index"), (3, "axis"), None),
    "jax.lax.dynamic_update_slice_in_dim": ((2, "start_index"), (3, "axis"), None),
    "jax.numpy.take": ((1, "indices"), (2, "axis"), None),
    "ndarray.take": ((1, "indices"), (2, "axis"), None),
}


@dataclass(frozen=True, eq=False)
class Access:
    """What is read or written: of which array, and what counts along which of its axes."""

    event: Event
    array: Data
    positions: tuple[tuple[int, Node], ...]


@remembered
def accesses(facts: SourceFacts) -> list[Access]:
    """All of them, in the order of their kinds."""
    found = [
        Access(fact, fact.data["base"], tuple(indexed_axes(fact.data["index"])))
        for fact in facts.events(Fact)
        if fact.kind == "indexed"
    ]
    for call in facts.calls(_AT):
        pair = call.args[0] if call.args else None
        items = pair.items if isinstance(pair, Sequence) else None
        if items and isinstance(items[0], Data):
            found.append(Access(call, items[0], tuple(indexed_axes(items[1]))))
    found += [it for call in facts.calls(_ALONG) if (it := _along_axis(call)) is not None]
    return [it for it in found if it.positions]


def _along_axis(call: Call) -> Access | None:
    """What a function takes along the axis that it is told."""
    position, axis, default = _ALONG[call.name]
    array = call.args[0] if call.args else None
    index = argument(call, *position)
    if not isinstance(array, Data) or not isinstance(index, Data):
        return None
    given = argument(call, *axis)
    number = given.value if isinstance(given, Constant) else default if given is None else None
    if type(number) is int and number < 0 and isinstance(array.node.shape, tuple):
        number += len(array.node.shape)
    if type(number) is not int or number < 0:
        return None
    return Access(call, array, ((number, index.node),))


def indexed_axes(index: Value) -> Iterator[tuple[int, Node]]:
    """The axes that single values index: `x[:, i]` indexes axis 1 by `i`."""
    items = [index]
    if isinstance(index, Sequence) and index.kind == "tuple":
        items = index.items or []
    for axis, item in enumerate(items):
        if isinstance(item, Constant) and (item.value is None or item.value is ...):
            return  # Axes are counted otherwise from there on.
        if isinstance(item, Data):
            yield axis, item.node
