"""Flags of a loop that stay set once they are, and what the loop adds up beside them.

Lanes of a batch finish at different turns. A loop that goes on for the others keeps a flag for each
lane, `finished | done`, and has to leave out what a lane adds after its own end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....words import is_episode_end, is_reward
from ...events import Loop
from ...graph import Node
from ...operations import AND, OR, SELECTIONS
from ...values import Constant
from ..loops.bodies import behind, made_from, paired_leaves
from ..loops.outcomes import is_used_after
from ..names import names_of
from ..nodes import is_flag, of_all_lanes, of_lane

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class Unmasked:
    """A sum that goes on in all lanes, beside one that a flag stops in those that are through."""

    loop: Loop
    latch: Node
    total: Node
    masked: Node


def unmasked_sums(facts: SourceFacts) -> Iterator[Unmasked]:
    """Sums in the carry of a loop that lanes add to after their end, unlike another sum."""
    for loop in facts.events(Loop):
        slots = [
            (before.node, of_lane(after.node))
            for before, after in paired_leaves(loop.carry_in, loop.carry_out)
        ]
        latches = [it for it in slots if _stays_set(*it)] if len(slots) > 1 else []
        if len(latches) != 1:
            continue
        latch = latches[0]
        sums = [
            (before, after, added) for before, after in slots for added in _added(before, after)
        ]
        known = {total: set(latch) & made_from([added]) for _, total, added in sums}
        masked = [total for _, total, _ in sums if known[total]]
        is_asked = bool(masked) or _is_asked(loop, latch[0])
        for before, total, added in sums:
            if known[total] or not _counts_always(added, loop):
                continue
            if not _leaves(facts, loop, before, total):
                continue
            if is_asked or _ends_what_is_paid(facts, latch[1], total, added):
                yield Unmasked(loop, latch[0], total, masked[0] if masked else latch[1])


def _leaves(facts: SourceFacts, loop: Loop, before: Node, total: Node) -> bool:
    """Whether anybody outside of a loop sees a part of its carry, be it as an output.

    What moves on after the end to nobody's knowledge, as a position that flags stop, is no sum.
    """
    stacked = behind(loop.stacked)
    return before in stacked or total in stacked or is_used_after(facts, loop, before)


def _ends_what_is_paid(facts: SourceFacts, latch: Node, total: Node, added: Node) -> bool:
    """Whether a flag is called an end, and what is added a reward.

    Other flags say that something has happened once, which is no reason to add nothing any more.
    """
    flags = (latch, *latch.inputs)
    names = {name for it in flags for name in names_of(facts, it, latch.frame)}
    paid = names_of(facts, added, total.frame)
    return any(map(is_episode_end, names)) and any(map(is_reward, paid))


def _stays_set(before: Node, after: Node) -> bool:
    """Whether a part of a carry is a flag that nothing takes back."""
    if after.operation not in OR | AND or len(after.inputs) != 2:
        return False
    others = [it for it in after.inputs if of_all_lanes(it) is not before]
    return len(others) == 1 and is_flag(others[0])


def _added(before: Node, after: Node) -> Iterator[Node]:
    """What an iteration adds to a sum in the carry.

    Where it depends on what it is added to, the loop integrates a state instead.
    """
    if after.operation == "+" and len(after.inputs) == 2:
        one, other = after.inputs
        for total, added in ((one, other), (other, one)):
            if of_all_lanes(total) is before and not added.depends_on(before):
                yield added


def _is_asked(loop: Loop, latch: Node) -> bool:
    """Whether a loop goes on until all lanes are through."""
    tests = behind(loop.options.get("condition"))
    return any(
        it.operation.rpartition(".")[2] == "all" and latch in made_from([it]) for it in tests
    )


def _counts_always(added: Node, loop: Loop) -> bool:
    """Whether something is another number in each turn, and no flag of its own makes it nothing."""
    if loop.region not in added.varies or is_flag(added):
        return False
    for _ in range(6):
        is_choice = added.operation in SELECTIONS and len(added.operands) == 3
        if is_choice and any(_is_zero(it) for it in added.operands[1:]):
            return False
        if added.operation == "*" and any(map(is_flag, added.inputs)):
            return False
        added = of_lane(added)
        if added.operation not in ("+", "-", "*", "stack", "item") or not added.inputs:
            break
        added = added.inputs[0]
    return True


def _is_zero(value: object) -> bool:
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, (int, float)) and number == 0
