"""The first three sections of a report, from a run of the interpreter.

Entry points are the functions of a file that somebody transforms (jits, maps, differentiates…),
outermost ones only: what they call is shown inside of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from ...report import Flow
from ..classes import innermost_function
from ..events import Applied
from ..facts import SourceFacts
from ..frame import Frame, Region
from ..values import leaves
from .boundaries import crossings
from .flow import calls_of, flow_of
from .stack import transformations


def sections_of(facts: SourceFacts) -> dict[str, Any]:
    """Data flow, transformation stack and shape trace of a file."""
    frames, calls = _entry_points(facts), calls_of(facts)
    return {
        "data_flow": tuple(flow_of(facts, it, calls) for it in frames),
        "transformation_stack": transformations(facts),
        "shape_trace": crossings(facts),
    }


def _entry_points(facts: SourceFacts) -> list[Frame]:
    """A run of each function that is transformed while nothing around it is."""
    chosen: dict[ast.AST, Frame] = {}
    staged: dict[ast.AST, dict[Region, list[Frame]]] = {}
    for applied in facts.events(Applied):
        if applied.frame.region is not None:
            continue
        function = innermost_function(applied.transformed.function)
        if function is None or function.frame.module is not facts.module:
            continue
        if function.syntax not in staged:
            staged[function.syntax] = _by_region(facts.record.runs[function.syntax])
        for frame in staged[function.syntax].get(applied.region, ()):
            best = chosen.get(function.syntax)
            # Of two that know as much, the last: examples come last.
            if best is None or _known_shapes(frame) >= _known_shapes(best):
                chosen[function.syntax] = frame
    return sorted(chosen.values(), key=lambda frame: getattr(frame.function, "lineno", 0))


def flows_named(facts: SourceFacts, name: str) -> tuple[Flow, ...]:
    """Data flow of each function of a file that has a name, transformed or not.

    `Model.step` is one, `step` means all that are called so.
    """
    chosen: dict[ast.AST, Frame] = {}
    for frame in facts.own_frames:
        function = frame.function
        if function is None or name not in (frame.name, frame.name.rpartition(".")[2]):
            continue
        best = chosen.get(function)
        if best is None or _known_shapes(frame) >= _known_shapes(best):
            chosen[function] = frame
    calls = calls_of(facts)
    frames = sorted(chosen.values(), key=lambda frame: getattr(frame.function, "lineno", 0))
    return tuple(flow_of(facts, frame, calls) for frame in frames)


def _known_shapes(frame: Frame) -> int:
    """How much is known of what a function is called with."""
    return sum(
        leaf.node.shape is not None for value in frame.given.values() for leaf in leaves(value)
    )


def _by_region(runs: Iterable[Frame]) -> dict[Region, list[Frame]]:
    """The runs of a function, by each of the regions that they are inside of."""
    found: dict[Region, list[Frame]] = {}
    for frame in runs:
        for region in frame.region.chain() if frame.region is not None else ():
            found.setdefault(region, []).append(frame)
    return found
