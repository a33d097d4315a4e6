"""Numbers of Python's that are another one in each turn of a loop, and never one of before.

A value that changes in a loop may still take few values: `i % 2`, `min(i, 3)`. What is established
to be another one each time is what the loop counts, and what follows from that one to one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...events import Fact
from ...frame import Region
from ...graph import Node
from ...remember import remembered
from ...values import Constant, Data, Sequence, Value

if TYPE_CHECKING:
    from ...facts import SourceFacts

_DEPTH = 6
_COUNTED = frozenset(("range", "enumerate", "zip"))


def is_another_each_turn(facts: SourceFacts, node: Node, loop: Region, depth: int = 0) -> bool:
    """Whether a number is established to be another one in each turn of a loop of Python's."""
    if loop not in node.varies or depth > _DEPTH:
        return False
    if node.operation == "turn":
        return _is_counted(facts, node, loop)
    if node.operation in ("+x", "-x"):
        return all(is_another_each_turn(facts, it, loop, depth + 1) for it in node.inputs)
    if len(node.operands) != 2:
        return False
    first, second = node.operands
    return any(
        isinstance(moving, Data)
        and is_another_each_turn(facts, moving.node, loop, depth + 1)
        and _keeps_apart(node.operation, other, loop, moving is first)
        for moving, other in ((first, second), (second, first))
    )


def _keeps_apart(operation: str, other: Value, loop: Region, is_first: bool) -> bool:
    """Whether an operation with the same number in each turn gives different numbers for others."""
    number = other.value if isinstance(other, Constant) else None
    if operation in ("+", "-"):
        is_same = isinstance(other, Data) and loop not in other.node.varies
        return is_same or isinstance(number, (int, float))
    is_factor = isinstance(number, (int, float)) and number != 0
    return is_factor and (operation == "*" or (operation == "/" and is_first))


def _is_counted(facts: SourceFacts, turn: Node, loop: Region) -> bool:
    """Whether a loop goes through the numbers of a `range`, or adds the same in each turn."""
    if not turn.inputs:
        return turn in _advanced(facts)
    iterated = loop.details.get("iterated")
    is_of_range = isinstance(iterated, Sequence) and iterated.kind in _COUNTED
    [counter] = turn.inputs
    return is_of_range and counter.operation == "counter" and loop not in counter.varies


@remembered
def _advanced(facts: SourceFacts) -> set[Node]:
    """What loops of Python's begin a turn with, and end it, on any way, with a number added."""
    found: set[Node] = set()
    for fact in facts.events(Fact):
        if fact.kind == "loop":
            for name, (entered, _) in fact.data["carried"].items():
                ends: list[Value] = fact.data["left"][name]
                steps = {_step(entered, it) for it in ends}
                # Steps up and down may come back to where it was.
                if isinstance(entered, Data) and steps in ({1}, {-1}):
                    found.add(entered.node)
    return found


def _step(before: Value, after: Value) -> int:
    """1 where a number has become larger, -1 where it has become smaller, else 0."""
    node = after.node if isinstance(after, Data) else None
    if node is None or not isinstance(before, Data) or node.inputs != (before.node,):
        return 0
    if node.operation not in ("+", "-") or len(node.operands) != 2:
        return 0
    first, second = node.operands
    is_taken_from = node.operation == "-" and isinstance(first, Constant)
    added = next((it.value for it in (first, second) if isinstance(it, Constant)), 0)
    if is_taken_from or not isinstance(added, (int, float)) or added == 0:
        return 0
    return 1 if (added > 0) == (node.operation == "+") else -1
