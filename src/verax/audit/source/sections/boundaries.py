"""Values that cross the boundary of a transformation, where their shapes are known."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

from ...report import Crossing
from ..classes import innermost_function
from ..events import Applied, Loop
from ..facts import SourceFacts
from ..library.options import DERIVATIVES, axes_of
from ..values import Constant, Data, Value, leaves
from .paths import leaves_by_path
from .tensors import tensor_of

# Runs of one place that are looked at.
_TIMES = 8
_MOST = 200  # parts of one value


def crossings(facts: SourceFacts) -> tuple[Crossing, ...]:
    """Every boundary once, with what goes in and what comes out, where most is known of it."""
    found: dict[tuple[str, str, int, int], tuple[Crossing, ...]] = {}
    for rows in _all_rows(facts):
        if rows and rows[0].place is not None:
            place = rows[0].place
            key = (rows[0].boundary, place.file, place.cell, place.line)
            if _known_sizes(rows) > _known_sizes(found.get(key, ())):
                found[key] = rows
    return tuple(row for rows in found.values() for row in rows)


def _all_rows(facts: SourceFacts) -> Iterator[tuple[Crossing, ...]]:
    times: Counter[ast.AST] = Counter()
    for applied in facts.events(Applied):
        times[applied.syntax] += 1
        if times[applied.syntax] <= _TIMES:
            yield tuple(_of_call(facts, applied))
    for loop in facts.events(Loop):
        times[loop.syntax] += 1
        if times[loop.syntax] <= _TIMES:
            yield tuple(_of_loop(facts, loop))


def _known_sizes(rows: Iterable[Crossing]) -> int:
    """How much some rows tell."""
    tensors = [it for row in rows for it in (row.before, row.after) if it is not None]
    sizes = sum(isinstance(size, int) for it in tensors for size in it.shape)
    return len(tensors) + sizes + sum(it.dtype != "?" for it in tensors)


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
    if applied.transformed.kind in DERIVATIVES:
        for path, leaf in islice(leaves_by_path("result", applied.outside), _MOST):
            if _is_known(leaf):
                tensor = tensor_of(leaf.node)
                yield Crossing(boundary, applied.place, "derivative", path, None, tensor)
    else:
        yield from _pairs(boundary, applied, "out", "result", applied.result, applied.outside)


def _role(kind: str, axis: Value | None) -> str:
    if kind not in ("vmap", "pmap"):
        return "in"
    if isinstance(axis, Constant):
        return "broadcast" if axis.value is None else f"mapped over axis {axis.value}"
    return "mapped"


def _of_loop(facts: SourceFacts, loop: Loop) -> Iterator[Crossing]:
    function = innermost_function(loop.body)
    boundary = f"{loop.kind} of {function.name}" if function is not None else loop.kind
    if loop.initial is not None and loop.carry_in is not None:
        yield from _pairs(boundary, loop, "carry", "carry", loop.initial, loop.carry_in)
    if loop.xs is not None and loop.slices is not None:
        yield from _pairs(boundary, loop, "scanned", "xs", loop.xs, loop.slices)


def _pairs(
    boundary: str, event: Applied | Loop, role: str, name: str, before: Value, after: Value
) -> Iterator[Crossing]:
    place = event.place
    for path, one, other in _side_by_side(name, before, after):
        if _is_known(one) or _is_known(other):
            first, second = tensor_of(one.node), tensor_of(other.node)
            yield Crossing(boundary, place, role, path, first, second)


def _side_by_side(name: str, before: Value, after: Value) -> Iterator[tuple[str, Data, Data]]:
    """The data on both sides; in order, where only one side tells its structure."""
    inside = dict(islice(leaves_by_path(name, after), _MOST))
    outside = dict(islice(leaves_by_path(name, before), _MOST))
    if inside.keys() == outside.keys():
        for path, leaf in outside.items():
            yield path, leaf, inside[path]
    else:
        for one, other in zip(leaves(before), leaves(after), strict=False):
            yield name, one, other


def _is_known(value: Data) -> bool:
    return value.node.shape is not None
