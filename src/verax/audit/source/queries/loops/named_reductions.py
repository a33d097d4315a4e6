"""Reductions of what one lane of a map has, under names that say they are over the batch."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...events import Call
from ...frame import Frame
from ...graph import Node
from ...operations import STATISTICS
from ...values import Constant, Data
from ..arrays import argument, calls_of
from ..lost.dropped_states import named_parts_of
from .lanes import Lane, lane_of, runs_inside_maps

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class NamedReduction:
    """`name = ...` of a reduction over axis 0, however that got there."""

    frame: Frame
    statement: ast.Assign
    name: str
    call: Call
    lane: Lane


def named_reductions(
    facts: SourceFacts, says_batch: Callable[[str], bool]
) -> Iterator[NamedReduction]:
    """Names for all lanes that are given to what was reduced over the first axis of one."""
    reduced = _over_first(facts)
    for frame in runs_inside_maps(facts) if reduced else ():
        for statement, value in frame.steps:
            if not isinstance(statement, ast.Assign):
                continue
            parts = [part for it in statement.targets for part in named_parts_of(it, value)]
            for target, part in parts:
                name = target.id if isinstance(target, ast.Name) else ""
                call = reduced.get(part.node) if isinstance(part, Data) else None
                if call is None or not says_batch(name):
                    continue
                array = call.args[0]
                lane = lane_of(frame, array) if isinstance(array, Data) else None
                if lane is not None and lane.lost_batch:
                    yield NamedReduction(frame, statement, name, call, lane)


def _over_first(facts: SourceFacts) -> dict[Node, Call]:
    """Reductions over axis 0 alone, by their results."""
    found: dict[Node, Call] = {}
    for call in calls_of(facts, *STATISTICS):
        axis = argument(call, 1, "axis")
        is_first = isinstance(axis, Constant) and type(axis.value) is int and axis.value == 0
        if is_first and call.args and isinstance(call.result, Data):
            found[call.result.node] = call
    return found
