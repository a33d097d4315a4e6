"""Terms of a loss that are made by one function, and of which only some have a side stopped."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...frame import Frame, Region
from ...graph import Node
from ...values import Data
from ..boundaries import DIFFERENTIATED
from .flatness import STOP
from .flows import Flow, flows

if TYPE_CHECKING:
    from ...facts import SourceFacts


@dataclass(frozen=True, eq=False)
class Unstopped:
    """Two calls of one function; what is stopped in `other` is not in `call`, as `argument`."""

    call: Place
    other: Place
    argument: Node


def unstopped(facts: SourceFacts) -> Iterator[tuple[Flow, Unstopped]]:
    """Calls without any stop, beside one that has one where these could have it too."""
    pairs = [
        (call, other)
        for calls in _siblings(facts)
        for other in [it for it in calls if _has_stop(it)][:1]
        for call in calls
        if not _has_stop(call)
    ]
    for flow in flows(facts) if pairs else ():
        known = set(flow.order)
        for call, other in pairs:
            if known.issuperset(_given(call).values()):
                for argument in _stopped_only_in(flow, _given(call), _given(other)):
                    yield flow, Unstopped(*_places(call, other), argument)


def _stopped_only_in(flow: Flow, one: dict[str, Node], other: dict[str, Node]) -> Iterator[Node]:
    for name, node in other.items():
        inner = _inner(node)
        if inner is None or name not in one or not _are_alike(flow, inner, one[name]):
            continue
        if _others_are_alike(flow, name, one, other):
            yield one[name]


def _siblings(facts: SourceFacts) -> Iterator[list[Frame]]:
    """The calls of one function of the project for one derivative, through whatever functions."""
    for function, frames in facts.record.runs.items():
        if isinstance(function, ast.Lambda) or len(frames) < 2:
            continue
        by_derivative: dict[Region, list[Frame]] = defaultdict(list)
        for frame in frames:
            region = _derivative(frame)
            if region is not None and _is_called_in(frame, region):
                by_derivative[region].append(frame)
        yield from (it for it in by_derivative.values() if len(it) > 1)


def _derivative(frame: Frame) -> Region | None:
    """The innermost derivative that is taken of what a function does."""
    around = frame.region.chain() if frame.region is not None else ()
    return next((it for it in around if it.kind in DIFFERENTIATED), None)


def _is_called_in(frame: Frame, derivative: Region) -> bool:
    """Whether a function is called by one that is differentiated, and is not that one itself."""
    caller = frame.called_in
    return caller is not None and _derivative(caller) is derivative


def _places(call: Frame, other: Frame) -> tuple[Place, Place]:
    """Where the two are called: by different lines, be it to go through one line afterwards."""
    first, second = _calls_of(call), _calls_of(other)
    for (frame, syntax), (beside, at) in zip(first, second, strict=False):
        if syntax is not at:
            return frame.place(syntax), beside.place(at)
    return first[0][0].place(first[0][1]), second[0][0].place(second[0][1])


def _calls_of(frame: Frame) -> list[tuple[Frame, ast.AST]]:
    assert frame.caller is not None
    assert frame.called_at is not None
    return list(frame.caller.calls_to(frame.called_at))


def _given(frame: Frame) -> dict[str, Node]:
    return {name: it.node for name, it in frame.given.items() if isinstance(it, Data)}


def _has_stop(frame: Frame) -> bool:
    return any(it.operation == STOP for it in _given(frame).values())


def _inner(node: Node) -> Node | None:
    return node.inputs[0] if node.operation == STOP and len(node.inputs) == 1 else None


def _are_alike(flow: Flow, stopped: Node, node: Node) -> bool:
    """Whether two values are made in one way, from the same parameters."""
    gets = flow.gets(node)
    return bool(gets) and stopped.operation == node.operation and flow.uses(stopped) == gets


def _others_are_alike(flow: Flow, name: str, one: dict[str, Node], other: dict[str, Node]) -> bool:
    """Whether both calls have another side which learns from this one."""
    sides = [it for it in one if it != name and it in other and flow.gets(one[it])]
    return bool(sides) and all(flow.gets(one[it]) == flow.gets(other[it]) for it in sides)
