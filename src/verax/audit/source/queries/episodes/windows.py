"""Last observations that a state keeps, as a window that each step moves on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import is_observation, words_of
from ...frame import Frame
from ...graph import Node
from ..names import names_of
from ..nodes import position_in
from ..positions import index_text
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
