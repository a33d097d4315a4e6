"""Arrays with the same axes in different orders: who hands them on, and what follows from it.

A function that compares two arrays axis by axis is right; its caller, who has them in two layouts,
is not. `trace/axes/layouts.py` asks the same of a traced program.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from ...finding import Place
from ..axes import names_of
from ..events import Fact
from ..frame import Frame
from ..graph import Node
from ..values import nodes_of
from .renaming import mended_by, with_axis

if TYPE_CHECKING:
    from ..facts import SourceFacts

_MOST = 200


def handed_turned_at(clash: Fact, first: Node, second: Node) -> Place | None:
    """The call that hands both arrays on as they are; `None` if they are not only laid out apart.

    It is the one in the innermost function that knows of either more than it was given.
    """
    found: Place | None = None
    one, other = clash.data["names"]
    for frame in clash.frame.callers():
        given = (_given(first, one, frame), _given(second, other, frame))
        if frame.caller is None or not isinstance(frame.called_at, ast.Call):
            break
        if not _are_turned(given, one, other):
            break
        found = frame.caller.place(frame.called_at)
    return found


def settled_with(facts: SourceFacts, clash: Fact) -> frozenset[Fact]:
    """The clashes that there would not be, had one of two arrays its axes in the other's order."""
    one, other = clash.data["names"]
    arrays = [node for it in clash.data["operands"] for node in nodes_of(it)]
    first, second = with_axis(arrays, one), with_axis(reversed(arrays), other)
    if not _are_turned((first, second), one, other):
        return frozenset()
    for node in (first, second):
        made = _laid_out(node, one, other)
        settled = mended_by(facts, made, one, other) if made is not None else frozenset[Fact]()
        if clash in settled:
            return settled
    return frozenset()


def _laid_out(node: Node | None, one: str, other: str) -> Node | None:
    """The first array that a program makes with both axes where they are by now."""
    found: Node | None = None
    for _ in range(_MOST):
        if node is None or not node.inputs or not {one, other} <= set(names_of(node.shape)):
            break
        found, node = node, with_axis(node.inputs, one)
    return found


def _given(node: Node | None, name: str, frame: Frame) -> Node | None:
    """What a run of a function was given of an array, if it did not make it itself."""
    for _ in range(_MOST):
        if node is None or node.frame is None or frame not in node.frame.callers():
            return node
        node = with_axis(node.inputs, name)
    return None


def _are_turned(given: tuple[Node | None, ...], one: str, other: str) -> bool:
    """Whether two arrays have both axes, each before the other in one of them."""
    orders: set[tuple[str, ...]] = set()
    for node in given:
        names = () if node is None else names_of(node.shape)
        orders.add(tuple(it for it in names if it in (one, other)))
    return orders == {(one, other), (other, one)}
