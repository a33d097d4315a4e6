"""Memories that start anew before the last step of an episode, by the flag of that very step.

`done[t]` of a record either says that what was seen at `t` is the first of an episode, or that `t`
was the last step of one. A target that masks the estimate for `t + 1` by it takes it for the
latter; a loop that wipes its memory by it before it takes in what was seen at `t`, for the former.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ....finding import Place
from ....words import is_observation, words_of
from ...events import Loop
from ...graph import Node
from ...operations import JOINS, SELECTIONS
from ...values import Data, nodes_of
from ..loops.bodies import behind, made_from, paired_leaves
from ..loops.direction import runs_backwards
from ..positions import Position, position
from .recurrence import reaching
from .targets import Target, factors, is_end, targets

if TYPE_CHECKING:
    from ...facts import SourceFacts


class EarlyReset(NamedTuple):
    """Where a loop is handed flags of the same steps, and the target that takes them otherwise."""

    place: Place
    flag: Node
    target: Target


def early_resets(facts: SourceFacts) -> Iterator[EarlyReset]:
    """Loops that wipe a memory by flags which a target takes for those of last steps."""
    found = targets(facts)
    loops = list(_wiping(facts)) if found else []
    for target in found if loops else ():
        nodes = [it.node for it in factors(target.product) if isinstance(it, Data)]
        own = position(target.reward, is_changed=True)
        for flag in nodes:
            at = position(flag, is_changed=True)
            if not _is_beside(at, own) or not is_end(facts, at.whole, target.frame):
                continue
            for loop, wiped in loops:
                if wiped is at.whole and any(_is_later(loop, it, own) for it in nodes):
                    yield EarlyReset(_handed_at(loop, wiped), wiped, target)


def _is_beside(flag: Position, reward: Position) -> bool:
    has_counter = bool(flag.counter or reward.counter)
    return not has_counter and (flag.axis, flag.shift) == (reward.axis, reward.shift)


def _is_later(loop: Loop, estimate: Node, reward: Position) -> bool:
    """Whether an estimate is what a loop gives for the step after a reward."""
    given = set(nodes_of(loop.outside)) if loop.outside is not None else set[Node]()
    for node in made_from([estimate]):
        at = position(node) if node.operation == "item" else None
        is_next = at is not None and at.is_cut and at.shift == reward.shift + 1
        if at is not None and is_next and not at.counter:
            return not given.isdisjoint(made_from([at.whole]))
    return False


def _wiping(facts: SourceFacts) -> Iterator[tuple[Loop, Node]]:
    """Loops that put something else in the place of a carry first, by flags of a record."""
    for loop in facts.events(Loop):
        if loop.kind != "scan" or loop.frame.module is not facts.module or runs_backwards(loop):
            continue
        shares = [(whole.node, part.node) for whole, part in paired_leaves(loop.xs, loop.slices)]
        for whole, share in shares:
            others = [it for it, _ in shares if it is not whole]
            is_taken = whole.operation in _TAKEN and _is_wiped_first(loop, share)
            if is_taken and any(_is_seen_beside(it, whole) for it in others):
                yield loop, whole


def _is_wiped_first(loop: Loop, flag: Node) -> bool:
    """Whether a flag decides what is left of a carry before anything else is made from it."""
    pairs = list(paired_leaves(loop.carry_in, loop.carry_out))
    used = behind(loop.returned)
    told = reaching(used, {flag})
    return any(
        node.operation in _MASKS
        and before.node in node.inputs
        and node is not after.node
        and any(it in told for it in node.inputs)
        for node in used
        for before, after in pairs
    )


_MASKS = SELECTIONS | {"*"}


def _is_seen_beside(inputs: Node, flag: Node) -> bool:
    """Whether a loop goes through what a record holds of the same steps as its flags."""
    known = made_from([inputs])
    if any(it.operation in JOINS or position(it).is_cut for it in known):
        return False  # How they lie to each other is not known.
    beside = [it.label for it in known if _comes_with(it, flag)]
    return bool(beside) and not any("next" in words_of(it) for it in beside)


_TAKEN = frozenset(("field", "item", "parameter"))


def _comes_with(node: Node, flag: Node) -> bool:
    """Whether something is in the record of some flags, or an observation given beside them."""
    if node.operation != flag.operation or node is flag:
        return False
    if node.operation == "parameter":
        return node.frame is flag.frame and is_observation(node.label)
    return node.operation in _TAKEN and node.inputs[:1] == flag.inputs[:1]


def _handed_at(loop: Loop, flag: Node) -> Place:
    """Where flags are handed on by who takes them out of their record."""
    frame, syntax = loop.frame, loop.syntax
    while frame.caller is not None and frame.called_at is not None:
        if not any(flag in nodes_of(it) for it in frame.given.values() if isinstance(it, Data)):
            break
        frame, syntax = frame.caller, frame.called_at
    return frame.place(syntax)
