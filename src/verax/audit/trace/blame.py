"""Which of the calls on the way to a mistake is to be mended."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .program import Step, Value

if TYPE_CHECKING:
    from ..finding import Place
    from .facts import Facts


def given_together_at(facts: Facts, step: Step, things: list[Value]) -> Place:
    """The call that brings together things which do not fit, through however many functions.

    A helper that gets them all from its caller cannot know that they do not fit.
    """
    makers = [it.producer for it in things]
    inside = max((_calls_shared(step, it) for it in makers if it is not None), default=None)
    if inside is None or None in makers or inside >= len(step.frames):
        return facts.place(step)
    return step.frames[-1 - inside]


def _calls_shared(one: Step, other: Step) -> int:
    """How many calls are around both of two steps."""
    count = 0
    for mine, theirs in zip(reversed(one.frames), reversed(other.frames), strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def places_apart(facts: Facts, one: Step, other: Step) -> tuple[Place, Place]:
    """Where two steps are, in the innermost call that holds them both."""
    shared = _calls_shared(one, other)
    if shared >= min(len(one.frames), len(other.frames)):
        return facts.place(one), facts.place(other)
    return one.frames[-1 - shared], other.frames[-1 - shared]


def wrongly_called_at(facts: Facts, step: Step, is_right: Callable[[Step], bool]) -> Place:
    """Where a function is called that does something wrong there, and is right elsewhere.

    A line that does what is right when another call comes to it is not to be changed.
    """
    place = facts.place(step)
    same = (it for it in facts.steps if it is not step and it.primitive == step.primitive)
    for other in same:
        if other.outputs and facts.place(other) == place and is_right(other):
            apart = places_apart(facts, step, other)
            return apart[0] if apart[0] != apart[1] else place
    return place
