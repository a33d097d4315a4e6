"""Functions that run on one lane of a map, and what their parameters are of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....words import is_batch, words_of
from ...axes import names_of
from ...frame import Frame, Region
from ...graph import Node
from ...shapes import Shape
from ...values import Data

if TYPE_CHECKING:
    from ...facts import SourceFacts

_BATCH = {"batch", "minibatch"}
_SAME = frozenset(("primal", "turn"))


@dataclass(frozen=True)
class Lane:
    """A parameter whose leading axis a map has taken away.

    `lost_batch` says that this axis was the batch, by its name, or that what is left has no room
    for one; that is certain if not only a caller's name for the whole says so. `axis` is the name
    of what was taken away.
    """

    region: Region
    lost_batch: bool
    is_array: bool
    axis: str
    is_certain: bool


def runs_inside_maps(facts: SourceFacts) -> Iterator[Frame]:
    """The runs of functions inside of `vmap` and `pmap`, at any depth."""
    for frame in facts.frames:
        region = frame.region
        if region is not None and any(it.kind in ("vmap", "pmap") for it in region.chain()):
            yield frame


def lanes_of(frame: Frame) -> dict[str, Lane]:
    """The parameters of a run that are one lane each of an array whose axis 0 is mapped."""
    found: dict[str, Lane] = {}
    given = {name: it for name, it in frame.given.items() if isinstance(it, Data)}
    pairs = {name: (it, _lane(it.node)) for name, it in given.items()}
    no_room = _has_no_room([lane.shape for _, lane in pairs.values() if lane is not None])
    for name, (value, lane) in pairs.items():
        taken = _taken_from(lane) if lane is not None else None
        if lane is None or taken is None:
            continue
        names = names_of(lane.inputs[0].shape)
        axis = names[0] if names else ""
        # A seed or an agent may have a batch of its own, unless the parameter is called after it.
        is_plural = bool(axis) and name == f"{axis}s"
        by_name = is_plural or (is_batch(axis) and not any(map(is_batch, names[1:])))
        certain = by_name if any(names) else no_room
        lost = certain or (not any(names) and _is_called_batch(frame, lane.inputs[0]))
        found[name] = Lane(taken, lost, value.is_array, axis, certain)
    return found


def _lane(node: Node) -> Node | None:
    """The lane that a value is, under derivatives and loops."""
    while node.operation in _SAME and node.inputs:
        node = node.inputs[0]
    return node if node.operation == "lane" and node.inputs else None


def _taken_from(lane: Node) -> Region | None:
    """The map that takes away axis 0."""
    parts: dict[Any, Node] = lane.inputs[0].children or {}
    for (_, key), child in parts.items():
        if child is lane:
            region, number = key
            return region if number == 0 else None
    return None


def _is_called_batch(frame: Frame, node: Node) -> bool:
    """Whether a caller has the whole under a name that says what its elements are."""
    return any(
        isinstance(value, Data) and value.node is node and _BATCH & set(words_of(name))
        for caller in frame.callers()
        for name, value in caller.given.items()
    )


def _has_no_room(shapes: list[Shape]) -> bool:
    """Whether lanes have no axis that could be a batch of their own: vectors of several lengths."""
    if not shapes or any(not isinstance(it, tuple) or len(it) > 1 for it in shapes):
        return False
    vectors = [it[0] for it in shapes if isinstance(it, tuple) and it]
    return len(shapes) == 1 or len(set(vectors)) == len(vectors)
