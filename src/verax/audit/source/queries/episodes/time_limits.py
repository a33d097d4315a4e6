"""Recursions that stop where an episode terminates, and run on where its time was up.

There a target still looks ahead, to the value of what would have come; but the next step that was
recorded belongs to another episode, and so does its advantage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ....words import words_of
from ...events import Loop
from ...frame import Frame
from ...graph import Node
from ...values import Instance, Sequence, nodes_of
from ..loops.bodies import behind, body_frame, made_from, paired_leaves
from ..loops.direction import runs_backwards
from ..names import named_parts, names_of
from ..nodes import position_in
from .errors import factors_of, flags_behind, shares
from .recurrence import feedback_path, is_recursion

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts

ENDED = frozenset("terminated terminal terminals termination terminations".split())
CUT = frozenset("truncated truncation truncations timeout timeouts".split())


class Limit(NamedTuple):
    """A flag for the end of time that a recursion leaves aside, and where: mostly its factor."""

    place: Place
    cut: str
    loop: Place
    is_handed: bool = False  # to the loop itself, which does not use it


def recursions_past_limits(facts: SourceFacts) -> Iterator[Limit]:
    """Backward recursions with a factor that is made of one of two flags."""
    for loop in facts.events(Loop):
        if loop.frame.module is not facts.module or not runs_backwards(loop):
            continue
        left_aside = _left_aside(facts, loop)
        yield from [left_aside] if left_aside is not None else _beside(loop)


def _beside(loop: Loop) -> Iterator[Limit]:
    """The factor of a recursion that knows of one of a record's two flags."""
    for factor, _ in _factors(loop):
        known = made_from([factor])
        cut = next((cut for ended, cut in _flags(loop.frame) if ended.node in known), None)
        if cut is None or factor.place is None:
            continue
        if cut.node not in made_from(nodes_of(loop.returned) if loop.returned else ()):
            yield Limit(factor.place, cut.name, loop.place)
            break


def _left_aside(facts: SourceFacts, loop: Loop) -> Limit | None:
    """A recursion that is handed both flags, each as an array, and takes its factor of one.

    What stands in a tuple was put there to be used, and what a body calls `_` is left aside on
    purpose. A flag of another name for any end may know of that of time already; but then nobody
    would have handed that on.
    """
    unread = _unread_flags(facts, loop)
    used = made_from(nodes_of(loop.returned)) if unread and loop.returned else set[Node]()
    if used.isdisjoint(it.node for it in unread):
        for factor, recursion in _factors(loop) if unread else ():
            flags = (flags_behind(facts, loop.frame, it) for it in (factor, *factors_of(factor)))
            body = body_frame(facts, loop)
            made = position_in(body, recursion) if body is not None and any(flags) else None
            if body is not None and made is not None:
                return Limit(body.place(made), unread[0].name, loop.place, is_handed=True)
    return None


def _unread_flags(facts: SourceFacts, loop: Loop) -> list[_Flag]:
    """The flags for the end of time that a body gets in a tuple, and does not use."""
    if not isinstance(loop.slices, Sequence) or loop.slices.type is not None:
        return []
    body, used = body_frame(facts, loop), behind(loop.returned)
    unread = [
        whole.node
        for whole, part in paired_leaves(loop.xs, loop.slices)
        if part.node not in used
        and not any(name.startswith("_") for name in names_of(facts, part.node, body))
    ]
    flags = [it for node in unread for it in flags_behind(facts, loop.frame, node, _is_cut)[-1:]]
    return [
        _Flag(next(filter(_is_cut, sorted(names_of(facts, it, loop.frame)))), it) for it in flags
    ]


def _is_cut(name: str) -> bool:
    return not CUT.isdisjoint(words_of(name))


def _factors(loop: Loop) -> Iterator[tuple[Node, Node]]:
    """What a loop multiplies by what it adds up; of an array outside, that array; and the sum."""
    wholes = {share: whole for whole, share in shares(loop)}
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        path = feedback_path(after.node, before.node, set(), set())
        if path is not None and is_recursion(loop, path):
            for node in path:
                for factor in factors_of(node):
                    if factor not in path:
                        yield wholes.get(factor, factor), path[0]


class _Flag(NamedTuple):
    name: str
    node: Node


def _flags(frame: Frame) -> Iterator[tuple[_Flag, _Flag]]:
    """The flags for termination and for the end of time of records that callers know."""
    for caller in frame.callers():
        for value in caller.environment.values():
            if isinstance(value, (Instance, Sequence)):
                flags = [_Flag(name, node) for name, node in named_parts(value)]
                ended = [it for it in flags if not ENDED.isdisjoint(words_of(it.name))]
                cut = [it for it in flags if not CUT.isdisjoint(words_of(it.name))]
                if len(ended) == 1 and len(cut) == 1 and ended != cut:
                    yield ended[0], cut[0]
