"""Counters: which value is the number of a loop's turn, and where it ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....finding import Place
from ...events import Fact, Loop
from ...graph import Node
from ...remember import remembered
from ...shaping import length_of, size_symbol
from ...values import Constant, Data, Sequence, Value, leaves
from .bodies import pairs

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True)
class Bound:
    """The number that a counter stays below, and the loop that counts."""

    limit: Any
    place: Place


@remembered
def bounds(facts: SourceFacts) -> dict[Node, Bound]:
    """All counters of JAX's and of Python's loops, and the numbers of lanes."""
    found: dict[Node, Bound] = {}
    for loop in facts.events(Loop):
        for node, limit in _counters(loop):
            if limit is not None:
                found[node] = Bound(limit, loop.place)
    for fact in facts.events(Fact):
        if fact.kind == "indexed":
            for _, index in indexed_axes(fact.data["index"]):
                counter, _ = counted(index)
                bound = _of_python(counter) or _of_lane(counter)
                if bound is not None:
                    found[counter] = bound
    return found


def sizes_of(array: Node) -> list[Any]:
    """The sizes of an array's axes, as symbols if nothing is known but that the program asks."""
    if isinstance(array.shape, tuple):
        return list(array.shape)
    shape = (array.children or {}).get(("static", "shape"))
    return [] if shape is None else [size_symbol(shape, number) for number in range(6)]


def _counters(loop: Loop) -> Iterator[tuple[Node, Any]]:
    length = loop.length.value if isinstance(loop.length, Constant) else None
    if loop.kind == "fori_loop" and isinstance(loop.slices, Data):
        yield loop.slices.node, length
    for leaf in leaves(loop.slices) if loop.kind in ("scan", "map") and loop.slices else ():
        source = leaf.node.inputs[0] if leaf.node.inputs else None
        shape = source.shape if source and source.operation == "jax.numpy.arange" else None
        if isinstance(shape, tuple) and shape:
            yield leaf.node, shape[0]
    if length is None and loop.xs is not None:
        sizes = [it.node.shape for it in leaves(loop.xs)]
        length = next((it[0] for it in sizes if isinstance(it, tuple) and it), None)
    if loop.kind == "scan":
        for (start, before), (_, after) in zip(
            pairs(loop.initial, loop.carry_in), pairs(loop.carry_in, loop.carry_out), strict=False
        ):
            if _is_zero(start) and isinstance(before, Data) and _is_next(before, after):
                yield before.node, length


def _is_next(before: Data, after: Value) -> bool:
    """Whether a number is another one plus a constant."""
    return (
        isinstance(after, Data)
        and after.node.operation == "+"
        and after.node.inputs == (before.node,)
    )


def _is_zero(value: Value) -> bool:
    return isinstance(value, Constant) and value.value == 0


def _of_python(index: Node) -> Bound | None:
    """The bound of a counter of `for i in range(n)`."""
    if index.operation != "turn" or not index.inputs or index.inputs[0].operation != "counter":
        return None
    for region in index.varies:
        iterated = region.details.get("iterated")
        if isinstance(iterated, Sequence) and iterated.kind == "range":
            counter = iterated.element
            if isinstance(counter, Data) and counter.node is index.inputs[0] and region.place:
                return Bound(length_of(iterated), region.place)
    return None


def _of_lane(index: Node) -> Bound | None:
    """The bound of what is mapped over `arange(n)`."""
    numbers = index.inputs[0] if index.operation == "lane" and index.inputs else None
    if numbers is None or numbers.operation != "jax.numpy.arange" or numbers.place is None:
        return None
    return Bound(numbers.shape[0], numbers.place) if isinstance(numbers.shape, tuple) else None


def counted(index: Node) -> tuple[Node, int]:
    """What an index counts, and how much is added to it."""
    shift = 0
    while index.operation in ("+", "-") and len(index.inputs) == 1 and len(index.operands) == 2:
        number = next((it.value for it in index.operands if isinstance(it, Constant)), None)
        is_added = index.operation == "+" or isinstance(index.operands[1], Constant)
        if type(number) is not int or not is_added:
            break
        shift += number if index.operation == "+" else -number
        index = index.inputs[0]
    return index, shift


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
