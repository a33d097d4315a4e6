"""Functions that take parts of a loop's carry, and return what comes after each in their order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...events import Loop
from ...frame import Frame
from ...graph import Node
from ...values import Data, Sequence, Value
from .bodies import behind, frames_by_call, paired_leaves

if TYPE_CHECKING:
    from ...facts import SourceFacts


def left_behind(
    facts: SourceFacts, loop: Loop, body: Frame, stale: dict[Node, Data]
) -> Iterator[Node]:
    """What `a, b = advance(a, b, x)` makes of a part that stays, while `a` is handed on.

    The result is of the part's type, and has the place among the results that what is made from the
    part has among the arguments; another result, handed on in its turn, shows that they go by that.
    """
    handed_on = behind(loop.carry_out)
    moved = {
        after.node: before.node
        for before, after in paired_leaves(loop.carry_in, loop.carry_out)
        if before.node is not after.node
    }
    for run in (it for runs in frames_by_call(facts).values() for it in runs):
        results = _results(run) if run.caller is body else []
        given = list(run.given.values())
        for shift in _shifts(given, results, moved):
            for argument, result in zip(given[shift:], results, strict=False):
                if not isinstance(result, Data) or result.node in handed_on:
                    continue
                parts, made_from = behind(argument), behind(result)
                own = [it for it in stale if it in parts and it in made_from]
                if len(own) == 1 and parts.isdisjoint(moved.values()) and _alike(own[0], result):
                    yield result.node


def _results(run: Frame) -> list[Value]:
    """What a function returns, if that are several things and always the same ones."""
    value = run.returns[0][1] if len(run.returns) == 1 else None
    return value.items or [] if isinstance(value, Sequence) and value.kind == "tuple" else []


def _shifts(given: list[Value], results: list[Value], moved: dict[Node, Node]) -> set[int]:
    """How far the argument for a part of the carry is behind the result that replaces the part."""
    return {
        position - number
        for number, result in enumerate(results)
        if isinstance(result, Data) and result.node in moved
        for position, argument in enumerate(given)
        if position >= number and moved[result.node] in behind(argument)
    }


def _alike(part: Node, result: Data) -> bool:
    is_known = isinstance(part.shape, tuple) and part.dtype is not None
    return is_known and part.shape == result.node.shape and part.dtype == result.node.dtype
