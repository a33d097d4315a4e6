"""Counters that end something when they reach a limit, and go on counting.

Once such a counter is beyond its limit it stays there, so that what it ends is ended in each turn
from then on. Nothing here is known by its name: a counter is a part of a loop's carry to which each
turn adds a number, and it ends what a choice replaces by something that knows nothing of the turns
before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Loop
from ...graph import Node
from ...operations import OR, SELECTIONS, VIEWS
from ...values import Constant, Data, Value, nodes_of
from ..loops.bodies import behind, made_from, paired_leaves
from ..nodes import of_all_lanes, of_lane

if TYPE_CHECKING:
    from ...facts import SourceFacts

_BEYOND = frozenset((">=", ">"))
_BELOW = frozenset(("<=", "<"))


@dataclass(frozen=True, eq=False)
class Clock:
    """A counter, its next value, and a choice that replaces another part where it is beyond."""

    loop: Loop
    before: Node
    after: Node
    choice: Node


def running_on(facts: SourceFacts) -> Iterator[Clock]:
    """Counters in the carry of a loop that nothing sets back where they end something else."""
    for loop in facts.events(Loop):
        slots = [
            (before.node, of_lane(after.node))
            for before, after in paired_leaves(loop.carry_in, loop.carry_out)
        ]
        counters = [it for it in slots if _counts(*it)] if len(slots) > 1 else []
        if not counters:
            continue
        made = behind(loop.returned)
        moving = {before for before, after in slots if of_all_lanes(after) is not before}
        for before, after in counters:
            ends = _set_for_ever(made, before, after, moving)
            for other, chosen in slots:
                if other is not before and _starts_anew(chosen, ends, moving, other):
                    yield Clock(loop, before, after, chosen)
                    break


def held_at(clock: Clock) -> Place | None:
    """Where the function that replaces the rest hands the counter on; else where it is counted."""
    frame = clock.choice.frame
    for it in frame.callers() if frame is not None else ():
        for syntax, value in it.returns if isinstance(it.function, ast.FunctionDef) else ():
            if any(of_lane(node) is clock.after for node in nodes_of(value)):
                return it.place(syntax)
    return clock.after.place


def _counts(before: Node, after: Node) -> bool:
    """Whether a part of a carry is itself and a fixed number more in the next turn."""
    if after.operation != "+" or len(after.operands) != 2:
        return False
    one, other = after.operands
    for part, step in ((one, other), (other, one)):
        is_own = isinstance(part, Data) and of_all_lanes(part.node) is before
        if is_own and isinstance(step, Constant) and _is_positive(step.value):
            return True
    return False


def _is_positive(number: object) -> bool:
    return isinstance(number, (int, float)) and not isinstance(number, bool) and number > 0


def _set_for_ever(made: set[Node], before: Node, after: Node, moving: set[Node]) -> set[Node]:
    """The flags that are set as soon as a counter is beyond something that does not change."""
    found = {it for it in made if _is_beyond(it, (before, after), moving)}
    grows = bool(found)
    while grows:
        new = {it for it in made if it not in found and _is_set_with(it, found)}
        found |= new
        grows = bool(new)
    return found


def _is_beyond(node: Node, counter: tuple[Node, Node], moving: set[Node]) -> bool:
    if node.operation not in _BEYOND | _BELOW or len(node.operands) != 2:
        return False
    large, small = node.operands if node.operation in _BEYOND else node.operands[::-1]
    is_own = isinstance(large, Data) and any(_is_or_next(large.node, it) for it in counter)
    return is_own and not (isinstance(small, Data) and moving & made_from([small.node]))


def _is_or_next(node: Node, counter: Node) -> bool:
    """Whether a value is a counter, or that and a fixed number."""
    if node.operation == "+" and len(node.inputs) == 1:
        node = node.inputs[0]
    return node is counter or of_all_lanes(node) is counter


def _is_set_with(node: Node, flags: set[Node]) -> bool:
    """Whether a value is true wherever one of some flags is."""
    if node.operation in OR:
        return not flags.isdisjoint(node.inputs)
    if node.operation in _VIEWS:
        return not flags.isdisjoint(node.inputs[:1])
    if node.operation in SELECTIONS and len(node.operands) == 3:
        flag, then, _ = node.operands
        is_one = isinstance(then, Constant) and bool(then.value)
        return is_one and isinstance(flag, Data) and flag.node in flags
    return False


_VIEWS = VIEWS | {"item", "stack", "lane"}


def _starts_anew(chosen: Node, ends: set[Node], moving: set[Node], own: Node) -> bool:
    """Whether a part is replaced, where flags are set, by what no turn before has told."""
    if chosen.operation not in SELECTIONS or len(chosen.operands) != 3:
        return False
    flag, fresh, kept = chosen.operands
    if not isinstance(flag, Data) or flag.node not in ends:
        return False
    return _is_drawn_or_kept(fresh, moving) and isinstance(kept, Data) and kept.node.depends_on(own)


def _is_drawn_or_kept(fresh: Value, moving: set[Node]) -> bool:
    """Whether a value is drawn at random, or a part of the carry that never changes."""
    if not isinstance(fresh, Data):
        return False
    states = {it for it in moving if not it.is_key}
    sources = made_from([fresh.node])
    is_drawn = any(it.operation.startswith("jax.random.") for it in sources)
    is_first = of_all_lanes(fresh.node).operation == "carry"
    return (is_drawn or is_first) and states.isdisjoint(sources)
