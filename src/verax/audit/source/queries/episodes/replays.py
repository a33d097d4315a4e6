"""Functions that are called in a loop, and again later with what the loop has recorded.

While an agent acts, a network is given what comes into a turn; when it learns, the same network is
given records of all turns. Whether these are of the same steps can be told from the graph, whatever
the values are called.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from ...events import Loop
from ...frame import Frame, Region
from ...graph import Node
from ...values import Instance, nodes_of
from ..nodes import all_nodes, of_all_lanes
from .negation import without_shape
from .rollouts import recorded, slots

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts


Shift: TypeAlias = int | Literal["end"] | None


@dataclass(frozen=True, eq=False)
class Use:
    """A call of a function or of a network, with what it is given, and where it is made."""

    given: tuple[Node, ...]
    region: Region | None
    frame: Frame
    syntax: ast.AST

    @property
    def place(self) -> Place:
        """Where the call is."""
        return self.frame.place(self.syntax)

    def is_in(self, region: Region) -> bool:
        """Whether the call is made in a loop."""
        return self.region is not None and region in self.region.chain()


@dataclass(frozen=True, eq=False)
class Replay:
    """A call in a loop, and a later one of the same function with records of that loop.

    `shifts` says of each argument how many steps later it is than it was in the loop, if known;
    "end" is what was left when the loop was through.
    """

    loop: Loop
    acting: Use
    learning: Use
    shifts: tuple[Shift, ...]


def replays(facts: SourceFacts) -> Iterator[Replay]:
    """All calls with records of a loop in which the same function was called."""
    loops = {
        node: loop
        for loop in facts.events(Loop)
        if loop.kind == "scan" and loop.stacked is not None
        for node in nodes_of(loop.stacked)
    }
    for uses in _uses(facts).values() if loops else ():
        for learning in uses if len(uses) > 1 else ():
            for loop in _recorded_in(learning, loops):
                for acting in uses:
                    is_earlier = acting.is_in(loop.region) and not learning.is_in(loop.region)
                    if is_earlier and len(acting.given) == len(learning.given):
                        both = zip(learning.given, acting.given, strict=True)
                        shifts: tuple[Shift, ...] = tuple(_shift(facts, *it) for it in both)
                        yield Replay(loop, acting, learning, shifts)


def _uses(facts: SourceFacts) -> dict[Hashable, list[Use]]:
    """The calls of each function of the project, and of what is called without being known."""
    found: dict[Hashable, list[Use]] = defaultdict(list)
    for function, frames in facts.record.runs.items():
        for frame in frames:
            if frame.caller is not None and frame.called_at is not None:
                given = tuple(node for it in frame.given.values() for node in nodes_of(it))
                found[function].append(Use(given, frame.region, frame.caller, frame.called_at))
                for called, rest in _as_method(frame):
                    found[called].append(Use(rest, frame.region, frame.caller, frame.called_at))
    for node in all_nodes(facts):
        is_call = node.operation == "call" or node.operation.startswith(".")
        if is_call and len(node.inputs) > 1 and node.frame is not None and node.syntax is not None:
            called = node.operation, _plain(node.inputs[0])
            found[called].append(Use(node.inputs[1:], node.region, node.frame, node.syntax))
    return found


def _as_method(frame: Frame) -> Iterator[tuple[Hashable, tuple[Node, ...]]]:
    """What is called if it is a method, as where the class of its object is not known."""
    first = next(iter(frame.given.values()), None)
    if isinstance(first, Instance):
        name = frame.name.rpartition(".")[2]
        rest = tuple(node for it in list(frame.given.values())[1:] for node in nodes_of(it))
        yield ("call" if name == "__call__" else f".{name}", _plain(first.node)), rest


def _plain(node: Node) -> Node:
    while node.operation in ("primal", "lane") and node.inputs:
        node = node.inputs[0]
    return node


def _ends(left: Node) -> tuple[Node, ...]:
    """What the carry of a loop may be when it is through."""
    end = left.inputs[0]
    return (end, *end.inputs) if end.operation == "join" else (end,)


def _recorded_in(use: Use, loops: dict[Node, Loop]) -> set[Loop]:
    """The loops that have recorded what a function is given."""
    kept = [recorded(node) for node in use.given]
    return {loops[node] for node in kept if node is not None and node in loops}


def _shift(facts: SourceFacts, now: Node, then: Node) -> Shift:
    """How many steps a record is later than what was given in the loop."""
    given, known = of_all_lanes(without_shape(then)), slots(facts)
    record = recorded(now)
    if record is None:
        slot, left = known.get(given), _plain(now)
        is_left = slot is not None and left.operation == "last" and slot.after in _ends(left)
        return "end" if is_left else None
    record = of_all_lanes(record)
    if record is given:
        return 0
    after, before = known.get(given), known.get(record)
    if after is not None and of_all_lanes(after.after) is record:
        return 1
    return -1 if before is not None and of_all_lanes(before.after) is given else None
