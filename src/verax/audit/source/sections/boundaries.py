"""Values that cross the boundary of a transformation, where their shapes are known."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from ...report import Crossing
from ..classes import innermost_function
from ..events import Applied, Loop
from ..facts import SourceFacts
from ..library.options import axes_of
from ..values import Constant, Data, Value, leaves
from .tensors import tensor_of

# Runs of one place that are looked at.
_TIMES = 8


def crossings(facts: SourceFacts) -> tuple[Crossing, ...]:
    """Every boundary once, with what goes in and what comes out."""
    found: dict[Crossing, None] = {}
    times: Counter[ast.AST] = Counter()
    for applied in facts.events(Applied):
        times[applied.syntax] += 1
        if times[applied.syntax] <= _TIMES:
            found.update(dict.fromkeys(_of_call(facts, applied)))
    for loop in facts.events(Loop):
        found.update(dict.fromkeys(_of_loop(facts, loop)))
    return tuple(found)


def _of_call(facts: SourceFacts, applied: Applied) -> Iterator[Crossing]:
    function = innermost_function(applied.transformed.function)
    name = function.name if function is not None else "?"
    boundary = f"{applied.transformed.kind} of {name}"
    axes = axes_of(applied.transformed, len(applied.args))
    inner = list(applied.inner.items())
    for number, value in enumerate(applied.args):
        if number >= len(inner):
            break
        role = _role(applied.transformed.kind, axes[number])
        yield from _pairs(boundary, applied, role, inner[number][0], value, inner[number][1])
    yield from _pairs(boundary, applied, "out", "result", applied.result, applied.outside)


def _role(kind: str, axis: Value | None) -> str:
    if kind not in ("vmap", "pmap"):
        return "in"
    if isinstance(axis, Constant):
        return "broadcast" if axis.value is None else f"mapped over axis {axis.value}"
    return "mapped"


def _of_loop(facts: SourceFacts, loop: Loop) -> Iterator[Crossing]:
    boundary = loop.kind
    if loop.initial is not None and loop.carry_in is not None:
        yield from _pairs(boundary, loop, "carry", "carry", loop.initial, loop.carry_in)
    if loop.xs is not None and loop.slices is not None:
        yield from _pairs(boundary, loop, "scanned", "xs", loop.xs, loop.slices)


def _pairs(
    boundary: str, event: Applied | Loop, role: str, name: str, before: Value, after: Value
) -> Iterator[Crossing]:
    place = event.place
    for one, other in zip(leaves(before), leaves(after), strict=False):
        if _is_known(one) or _is_known(other):
            first, second = tensor_of(one.node), tensor_of(other.node)
            yield Crossing(boundary, place, role, name, first, second)


def _is_known(value: Data) -> bool:
    return value.node.shape is not None
