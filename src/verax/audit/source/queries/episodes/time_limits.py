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
from ..loops.bodies import made_from, paired_leaves
from ..loops.direction import runs_backwards
from ..names import named_parts
from .errors import factors_of, shares
from .recurrence import feedback_path, is_recursion

if TYPE_CHECKING:
    from ....finding import Place
    from ...facts import SourceFacts

ENDED = frozenset("terminated terminal terminals termination terminations".split())
CUT = frozenset("truncated truncation truncations timeout timeouts".split())


class Limit(NamedTuple):
    """A flag for the end of time that a recursion leaves aside, with where its factor is made."""

    place: Place
    cut: str
    loop: Place


def recursions_past_limits(facts: SourceFacts) -> Iterator[Limit]:
    """Backward recursions with a factor that is made of one of a record's two flags."""
    for loop in facts.events(Loop):
        if loop.frame.module is not facts.module or not runs_backwards(loop):
            continue
        for factor in _factors(loop):
            known = made_from([factor])
            cut = next((cut for ended, cut in _flags(loop.frame) if ended.node in known), None)
            if cut is None or factor.place is None:
                continue
            if cut.node not in made_from(nodes_of(loop.returned) if loop.returned else ()):
                yield Limit(factor.place, cut.name, loop.place)
                break


def _factors(loop: Loop) -> Iterator[Node]:
    """What a loop multiplies by what it adds up; of an array outside, that array."""
    wholes = {share: whole for whole, share in shares(loop)}
    for before, after in paired_leaves(loop.carry_in, loop.carry_out):
        path = feedback_path(after.node, before.node, set(), set())
        if path is not None and is_recursion(loop, path):
            for node in path:
                for factor in factors_of(node):
                    if factor not in path:
                        yield wholes.get(factor, factor)


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
