"""Running totals that an update replaces by what is new, while it goes on counting.

`total / count` is a mean over all that was ever counted. An update that adds to the count, and not
to the total, divides the newest sum by the number of all.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...graph import Node
from ...operations import BOUNDS, JOINS, PARTS, SUMS, VIEWS, WRITTEN
from ...values import Data, Instance, Mapping, Sequence, Value
from ..nodes import nodes_by, position_in
from ..structures.structure import parts_of

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...frame import Frame

_Parts = dict[str, Node]
# A count is kept from being zero, and one less for a deviation.
_COUNTED = BOUNDS | VIEWS | {"+", "-"}
_WINDOWS = WRITTEN | JOINS | {"jax.numpy.roll", "jax.lax.dynamic_update_slice"}


@dataclass(frozen=True)
class LostTotal:
    """Where a total is replaced, and where it is divided by what goes on counting."""

    place: Place
    total: str
    count: str
    divided: Place | None


def lost_totals(facts: SourceFacts) -> Iterator[LostTotal]:
    """All such updates in the functions of a file."""
    ratios = _ratios(facts)
    told: set[Place] = set()
    for frame in facts.frames if ratios else ():
        for old, new in _returned(frame):
            for (total, count), divided in ratios.items():
                made = new.get(total)
                if made is None or not _adds_to(new.get(count), old.get(count)):
                    continue
                at = position_in(frame, made) if _is_sum_without(made, old.get(total)) else None
                place = frame.place(at) if at is not None else None
                if place is not None and place not in told and frame.module is facts.module:
                    told.add(place)
                    yield LostTotal(place, total, count, divided)


def _ratios(facts: SourceFacts) -> dict[tuple[str, str], Place | None]:
    """The parts of one record that are divided by another part of it, by their names."""
    found: dict[tuple[str, str], Place | None] = {}
    for node in nodes_by(facts, ("/",)):
        above, below = node.operands if len(node.operands) == 2 else (None, None)
        if not isinstance(above, Data) or not isinstance(below, Data):
            continue
        total, count = above.node, below.node
        while count.operation in _COUNTED and len(count.inputs) == 1:
            count = count.inputs[0]
        are_parts = total.operation in PARTS and count.operation in PARTS
        if are_parts and total is not count and total.inputs == count.inputs:
            found.setdefault((_name(total), _name(count)), node.place)
    return found


def _returned(frame: Frame) -> Iterator[tuple[_Parts, _Parts]]:
    """The records that a function was given, each with those that it returns."""
    given = [_nodes(it) for it in frame.given.values()]
    for _, value in frame.returns:
        items = value.items if isinstance(value, Sequence) and value.type is None else None
        for new in map(_nodes, (value, *(items or ()))):
            for old in given:
                yield old, new


def _nodes(value: Value) -> _Parts:
    """The parts of a record by their names, as far as anybody has asked for them."""
    if isinstance(value, Data):
        read = (value.node.children or {}).values()
        return {_name(it): it for it in read} | _replaced(value.node)
    if not isinstance(value, (Instance, Sequence, Mapping)):
        return {}
    parts = parts_of(value).items()
    return {str(name): part.node for name, part in parts if isinstance(part, Data)}


def _name(part: Node) -> str:
    return part.label.strip("'")


def _replaced(record: Node) -> _Parts:
    """The parts that `.replace(…)` gives a record of which nothing else is known."""
    call = record.syntax if record.operation in (".replace", "._replace") else None
    names = [it.arg for it in call.keywords] if isinstance(call, ast.Call) else []
    new = record.inputs[1:]  # without those that are constants, whose names nobody can tell then
    if len(names) != len(new):
        return {}
    return {name: node for name, node in zip(names, new, strict=True) if name is not None}


def _adds_to(new: Node | None, old: Node | None) -> bool:
    return new is not None and old is not None and new.operation == "+" and old in new.inputs


def _is_sum_without(new: Node, old: Node | None) -> bool:
    """Whether a value is a sum of several, and none of them what was there before.

    A window that new values are written into holds some of those before.
    """
    while new.operation in VIEWS and new.inputs:
        new = new.inputs[0]
    return new.operation in SUMS and not any(
        it is old or it.operation in _WINDOWS for it in new.ancestors()
    )
