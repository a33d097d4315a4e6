"""Last observations that a state keeps, as a window that each step moves on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import is_observation, words_of
from ...events import Loop
from ...frame import Frame
from ...graph import Node
from ...values import Data
from ..loops.bodies import behind, body_frame, paired_leaves
from ..names import local_name, names_of
from ..nodes import of_all_lanes, of_lane, position_in
from ..positions import index_text
from .recurrence import flags_of, has_weights, reaching
from .resets import resets
from .updates import Part, updates

if TYPE_CHECKING:
    from ...facts import SourceFacts


def kept_windows(facts: SourceFacts) -> Iterator[tuple[str, Place]]:
    """Windows that are moved on past the end of an episode, where flags are known.

    A step that resets nothing leaves all of that to who calls it.
    """
    found = updates(facts)
    windows = [
        (update, part, _seen_at(update.frame, part.node))
        for update in found
        for part in update.parts
        if part.path and _is_window(facts, part, update.frame)
    ]
    if not windows:
        return
    resetting = {update.frame for update in found if any(it.is_gated for it in update.parts)}
    resetting |= {frame for it in resets(facts) for frame in it.frame.callers()}
    for update, part, place in windows:
        if place is not None and update.frame in resetting:
            yield part.name, place


def windows_carried(facts: SourceFacts) -> Iterator[tuple[str, Place]]:
    """Windows in the carry of a loop that take in what a reset has made, beside what was before."""
    made = [it for it in resets(facts) if not it.is_reversed]
    for loop in facts.events(Loop) if made else ():
        inside = [it for it in made if loop.region in it.judged.varies]
        for before, after in paired_leaves(loop.carry_in, loop.carry_out) if inside else ():
            window = of_lane(after.node)
            new = _put_in(window, before.node)
            if new is not None and any(new.depends_on(it.result) for it in inside):
                frame = body_frame(facts, loop)
                place = window.place or loop.place
                yield local_name(facts, frame, before, after), place


def windows_past_flags(facts: SourceFacts) -> Iterator[tuple[str, Place]]:
    """Windows in the carry of a scan that is given flags, which a network fills or reads."""
    for loop in facts.events(Loop):
        frame = body_frame(facts, loop) if loop.kind == "scan" else None
        for before, after in paired_leaves(loop.carry_in, loop.carry_out) if frame else ():
            window = of_lane(after.node)
            new = _put_in(window, before.node)
            if frame is None or new is None or not flags_of(facts, loop, frame):
                continue
            read = reaching(behind(loop.returned), {before.node})
            if has_weights(loop, read | behind(Data(new))):
                yield local_name(facts, frame, before, after), window.place or loop.place


def _put_in(window: Node, before: Node) -> Node | None:
    """What is new in a window that is the one before without its oldest row."""
    if window.operation == "at.set" and window.inputs[0].operation == "jax.numpy.roll":
        rolled = window.inputs[0].inputs[0]
        return window.inputs[-1] if of_all_lanes(rolled) is before else None
    if window.operation != "jax.numpy.concatenate" or len(window.inputs) != 2:
        return None
    for cut, new in (window.inputs, window.inputs[::-1]):
        is_cut = cut.operation == "item" and of_all_lanes(cut.inputs[0]) is before
        if is_cut and _SHIFTED.search(index_text(cut)):
            return new
    return None


def _seen_at(frame: Frame, node: Node) -> Place | None:
    """Where a function that knows the flags makes a value, be it by one that does not."""
    syntax = position_in(frame, node)
    return node.place if syntax is None else frame.place(syntax)


_WINDOWS = frozenset("frame frames stack stacked history".split())


def _is_window(facts: SourceFacts, part: Part, frame: Frame) -> bool:
    """Whether a part is the last one without its oldest row, and what is seen now."""
    if len(part.path) != 3 or part.node.operation != "jax.numpy.concatenate":
        return False
    _, cut, _ = part.path
    if not _SHIFTED.search(index_text(cut)):
        return False
    new = [
        it for source in part.node.inputs if source is not cut for it in (source, *source.inputs)
    ]
    names = [name for it in new for name in names_of(facts, it, frame)]
    return any(map(is_observation, names)) or not _WINDOWS.isdisjoint(words_of(part.name))


_SHIFTED = re.compile(r"(^|, )(1:|:-1)(,|$)")
