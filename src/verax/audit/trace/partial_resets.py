"""Parts of a loop's carry that flags make start anew, and parts beside them that go on.

The memory of a recurrent cell often has two parts of one type, each of which is made from both.
Where an iteration multiplies or replaces the one by what flags alone decide, before anything else
is done with it, the other has to be treated alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from .facts import Facts
from .program import Loop, Step, Value
from .recurrence import Feedback, feedback, is_learned, reached_from, trains
from .variation import Variation


@dataclass(frozen=True, eq=False)
class PartialReset:
    """A part of a carry that starts anew by a step, and one beside it that goes on."""

    gate: Step
    reset: Value
    kept: Value


def partial_resets(facts: Facts) -> Iterator[PartialReset]:
    """Parts of the carries of the user's scans that go on where their like start anew."""
    for step in facts.steps:
        if step.kind == "scan" and facts.is_users(step) and not trains(step):
            yield from _in_scan(facts, step)


def _in_scan(facts: Facts, step: Step) -> Iterator[PartialReset]:
    loop: Loop = step.detail
    flags = _made_of_flags(facts.variation, step)
    gates = [(carry, _gate_of(carry, flags)) for carry in loop.carry] if flags else []
    for reset, gate in gates:
        if gate is None:
            continue
        reached = reached_from(facts.variation, step, reset)
        for index, kept in enumerate(loop.carry):
            is_like = (kept.shape, kept.dtype) == (reset.shape, reset.dtype)
            is_made_with_it = loop.carried[index] in reached
            if is_like and is_made_with_it and _goes_on(facts, step, index, flags):
                yield PartialReset(gate, reset, kept)


def _made_of_flags(variation: Variation, step: Step) -> set[Value]:
    """Truth values that are scanned, and what is made from them and what no turn changes."""
    loop: Loop = step.detail
    flags = {it for it in loop.slices if str(it.dtype) == "bool"}
    pending = list(flags)
    while pending:
        for target, by in variation.made_from(pending.pop()):
            known = all(it in flags or not variation.changes(it, step) for it in by.inputs)
            if by.kind == "operation" and known and target not in flags:
                flags.add(target)
                pending.append(target)
    return flags


def _gate_of(carry: Value, flags: set[Value]) -> Step | None:
    """The step by which flags decide about a part of a carry, if that alone gets it."""
    users = [it for it in carry.consumers if it.kind != "call"]
    is_gated = bool(users) and all(_gates(flags, carry, it) for it in users)
    return users[0] if is_gated else None


def _gates(flags: set[Value], value: Value, step: Step) -> bool:
    if step.primitive == "select_n":
        return step.inputs[0] in flags
    return step.primitive == "mul" and any(it in flags for it in step.inputs if it is not value)


def _goes_on(facts: Facts, step: Step, index: int, flags: set[Value]) -> bool:
    """Whether a part of a carry is memory, which no flag keeps from the next turn.

    What is added to, such as weights that are learned on the way or a total, is meant to last.
    """
    loop: Loop = step.detail
    carry, carried = loop.carry[index], loop.carried[index]
    if is_learned(step, index) or any(_gates(flags, carry, it) for it in carry.consumers):
        return False
    if feedback(facts.variation, step, index) is not Feedback.RECURRENT:
        return False
    gated = partial(_gates, flags)
    added = reached_from(facts.variation, step, carry, lambda value, by: not _is_added(by))
    return carried in reached_from(facts.variation, step, carry, gated) and carried not in added


def _is_added(step: Step) -> bool:
    return step.primitive in ("add", "sub", "add_any", "convert_element_type", "copy")
