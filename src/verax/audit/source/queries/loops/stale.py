"""What looks like the next value of a carry, in a body that hands the carry on as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Call, Loop
from ...frame import Frame, Region
from ...graph import Node
from ...shapes import Shape
from ...shapes.dims import differ
from ...shapes.dtypes import is_float
from ...values import NONE, Constant, Data, Value, leaves, nodes_of
from ..training.optimisers import renewed_states
from .accesses import accesses
from .bodies import assigned, behind, pairs
from .counters import is_zero
from .threaded import left_behind

if TYPE_CHECKING:
    from ...facts import SourceFacts


def successors(
    facts: SourceFacts, loop: Loop, frame: Frame, stale: list[Data]
) -> Iterator[tuple[str, Node]]:
    """Values that are made from parts of a carry which stay: each in words, with its node.

    A count that starts at zero and is one more in each turn; an average of the part and of
    something new; the state that an optimiser makes of the part, with updates that are handed on;
    a place that is written in each turn; what a function returns in the part's place, beside what
    is handed on; or anything of its type that nothing else is made from.
    """
    if not stale or loop.returned is None:
        return
    own = {it.node: it for it in stale}
    returned, handed_on = behind(loop.returned), behind(loop.carry_out)
    computed = set(returned)
    for _, name, value in assigned(frame):
        computed |= behind(value)
        lost = _lost(value, own)
        if lost is not None and lost not in returned:
            yield f"`{name}`", lost
    for new, (old, _) in renewed_states(facts).items():
        if old in own and new not in handed_on and not handed_on.isdisjoint(new.inputs):
            yield "the optimiser's new state", new
    for node in computed:
        if node.operation != "+" or not node.is_made_in(loop.region):
            continue
        part = _counted(node)
        if part in own and is_zero(_first(part)):
            yield "one more than a count", node
            continue
        stay = [it for it in _averaged(node, loop.region) if it in own]
        # What others are drawn towards may well stand still, unless it is nothing from the start.
        if len(stay) == 1 and (node not in handed_on or _is_nothing(stay[0])):
            yield "a moving average", node
    for node in left_behind(facts, loop, frame, own):
        yield "what a function makes of a part beside what is handed on", node
    yield from _given_out(loop, own)
    yield from _written_in_place(facts, loop, own)


def _given_out(loop: Loop, own: dict[Node, Data]) -> Iterator[tuple[str, Node]]:
    """What a scan gives out of the type of its carry, of which nothing moves.

    What is drawn around a fixed point, or only scaled or compared by it, is no state.
    """
    if loop.kind != "scan" or not own.keys() >= set(nodes_of(loop.carry_in or NONE)):
        return
    for leaf in leaves(loop.stacked or NONE):
        node, before = leaf.node, _lost(leaf, own)
        if before is None or not is_float(node.dtype) or node.operation in ("*", "/", "@"):
            continue
        left = node.operands[0] if node.operation == "-" and node.operands else leaf
        is_compared = isinstance(left, Data) and behind(left).isdisjoint(own)
        drawn = any(it.operation.startswith("jax.random.") for it in node.ancestors())
        if not drawn and not is_compared:
            yield "what it gives out", node


def _written_in_place(
    facts: SourceFacts, loop: Loop, own: dict[Node, Data]
) -> Iterator[tuple[str, Node]]:
    """Other parts of the carry that are written at a position which starts at zero and stays."""
    after = set(nodes_of(loop.carry_out or NONE))
    for access in accesses(facts):
        written = access.event.result if isinstance(access.event, Call) else None
        if not isinstance(written, Data) or written.node not in after:
            continue
        if not all(position in own for _, position in access.positions):
            continue  # What a turn brings says where it writes.
        for _, position in access.positions:
            if any(
                is_zero(start)
                for start, inside in pairs(loop.initial, loop.carry_in)
                if isinstance(inside, Data) and inside.node is position
            ):
                yield "what is written at one position", written.node


def _lost(value: Value, own: dict[Node, Data]) -> Node | None:
    """An array of the type of a part that stays, and made from it."""
    found = nodes_of(value)
    node = found[0] if len(found) == 1 and isinstance(value, Data) else None
    if node is None or node in own or not isinstance(node.shape, tuple) or node.dtype is None:
        return None
    alike = [it for it in own if it.dtype == node.dtype and _may_be_equal(it.shape, node.shape)]
    made_from = behind(value) if alike else set[Node]()
    return node if any(it in made_from for it in alike) else None


def _may_be_equal(one: Shape, other: Shape) -> bool:
    """Whether two shapes have as many axes, none of which is known to differ."""
    if not isinstance(one, tuple) or not isinstance(other, tuple) or len(one) != len(other):
        return False
    return not any(map(differ, one, other))


def _counted(node: Node) -> Node | None:
    """What a constant is added to."""
    if len(node.operands) != 2:
        return None
    numbers = [it.value for it in node.operands if isinstance(it, Constant)]
    arrays = [it.node for it in node.operands if isinstance(it, Data)]
    return arrays[0] if numbers in ([1], [1.0]) and len(arrays) == 1 else None


def _first(part: Node) -> Value:
    """What a part of a carry is before the first turn."""
    while part.operation in ("carry", "last", "lane", "primal") and part.inputs:
        part = part.inputs[0]
    return Data(part)


def _is_nothing(part: Node) -> bool:
    """Whether a part of a carry is all zeros before the first turn."""
    first = _first(part)
    name = first.node.operation.rpartition(".")[2] if isinstance(first, Data) else ""
    return name in ("zeros", "zeros_like")


def _averaged(node: Node, region: Region) -> list[Node]:
    """What is averaged with the same weights in each turn: `0.1 * a + 0.9 * b`."""
    products = [it.node for it in node.operands if isinstance(it, Data)]
    if len(products) != 2 or any(it.operation != "*" or len(it.operands) != 2 for it in products):
        return []
    one, other = (it.operands for it in products)
    return [
        factor.node
        for a, b in ((one, other), (one[::-1], other), (one, other[::-1]), (one[::-1], other[::-1]))
        if _is_rest(a[0], b[0], region) or _is_rest(b[0], a[0], region)
        for factor in (a[1], b[1])
        if isinstance(factor, Data)
    ]


def _is_rest(weight: Value, other: Value, region: Region) -> bool:
    """Whether a weight is one minus another."""
    if isinstance(weight, Constant) and isinstance(other, Constant):
        numbers = weight.value, other.value
        return all(type(it) is float for it in numbers) and abs(sum(numbers) - 1.0) < 1e-9
    node = weight.node if isinstance(weight, Data) else None
    if node is None or node.operation != "-" or len(node.operands) != 2 or region in node.varies:
        return False
    whole, less = node.operands
    is_one = isinstance(whole, Constant) and whole.value == 1
    return is_one and isinstance(less, Data) and isinstance(other, Data) and less.node is other.node
