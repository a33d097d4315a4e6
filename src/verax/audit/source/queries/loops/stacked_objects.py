"""Objects that a map has made side by side, and methods that take them for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Call
from ...frame import Frame, Region
from ...graph import Node
from ...operations import STATISTICS
from ...shapes import Dim
from ...shapes.dims import same
from ...shapes.names import name_of
from ...values import Class, Data, Function, Value, class_of, leaves
from ..arrays import argument, calls_of
from ..nodes import stacked_over

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class CalledAsOne:
    """A method of several objects at once that reduces what they have to one number."""

    method: Frame
    cls: Class
    region: Region
    reduction: Call


def called_as_one(facts: SourceFacts) -> Iterator[CalledAsOne]:
    """Methods without a map around them, given one row for each of the objects of a map.

    A method that knows of several objects leaves their axis alone.
    """
    for call in calls_of(facts, *STATISTICS):
        frame = call.frame
        owner = next(iter(frame.given.values()), None)
        cls = class_of(owner) if owner is not None else None
        if owner is None or cls is None or argument(call, 1, "axis") is not None:
            continue
        if not _is_method(frame, cls):
            continue  # Of records that are stacked, a function may well take all.
        stack = _stack_of(owner)
        array = call.args[0] if call.args else None
        if stack is None or not isinstance(array, Data) or not _is_table(array.node):
            continue
        region = stacked_over(stack)
        rows = stack.shape[0] if isinstance(stack.shape, tuple) else None
        is_of_it = stack in array.node.ancestors()
        if region is not None and is_of_it and _is_given_rows(frame, owner, rows):
            yield CalledAsOne(frame, cls, region, call)


def _is_method(frame: Frame, cls: Class) -> bool:
    found = cls.find(frame.name.rpartition(".")[2])
    return isinstance(found, Function) and found.syntax is frame.function


def _stack_of(owner: Value) -> Node | None:
    """A field of an object, if all of its arrays are those of several side by side."""
    nodes = [leaf.node for leaf in leaves(owner)]
    regions = {stacked_over(node) for node in nodes}
    return nodes[0] if len(regions) == 1 and None not in regions else None


def _is_table(node: Node) -> bool:
    return isinstance(node.shape, tuple) and len(node.shape) > 1


def _is_given_rows(frame: Frame, owner: Value, rows: Dim) -> bool:
    """Whether another argument of a method has as many rows as there are objects."""
    others = [value for value in frame.given.values() if value is not owner]
    shapes = [leaf.node.shape for it in others for leaf in leaves(it)]
    return any(isinstance(it, tuple) and bool(it) and _are_same(it[0], rows) for it in shapes)


def _are_same(one: Dim, other: Dim) -> bool:
    names = name_of(one), name_of(other)
    return names[0] == names[1] if all(names) else same(one, other) is True
