"""Values that a line assigns and that reach no output, where they were evidently meant to.

Dead values are common in correct code. One is reported only where the name is never read again,
and where something says that it should have been: the value that it was made from is used later
where the new one would fit, or an input reaches no output because of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import jax.numpy as jnp

from .facts import Facts
from .line_values import every_line, fits, is_data, is_unread, results_of, taken_by, used_after
from .liveness import sources
from .program import Step, Value
from .sections.lines import Node


@dataclass(frozen=True)
class Dropped:
    """A value that is computed and dropped.

    `instead` is the value that is used in its place, by the step `used_by` (`None`: it is
    returned). `lost` are inputs that no output depends on as a consequence. `similar` is a step
    after it that takes values of the same type.
    """

    name: str
    value: Value
    line: Node
    instead: Value | None = None
    used_by: Step | None = None
    lost: tuple[Value, ...] = ()
    similar: Step | None = None


def dropped_values(facts: Facts) -> list[Dropped]:
    """Dead values of lines that assign one name."""
    if facts.traced.failure is not None:
        return []
    found: dict[tuple[object, str], Dropped] = {}
    for node in _dead_lines(facts):
        if len(node.targets) != 1 or not node.targets[0].isidentifier():
            continue
        name = node.targets[0]
        if name.startswith("_") or not is_unread(facts, node, name):
            continue
        reason = _reason(facts, node, name)
        if reason is not None:
            found.setdefault((node.place, name), reason)
    return list(found.values())


def _dead_lines(facts: Facts) -> Iterator[Node]:
    """Lines none of whose results reaches an output."""
    for node in every_line(facts.lines):
        produced = results_of(facts, node)
        if produced and node.place is not None and not any(it in facts.live for it in produced):
            yield node


def _reason(facts: Facts, node: Node, name: str) -> Dropped | None:
    results = [it for it in results_of(facts, node) if is_data(it)]
    taken = [it for it in _origins(facts, node) if is_data(it)]
    for value in reversed(results):
        for source in taken:
            if not _replaces(value, source):
                continue
            used, step = used_after(facts, source, node)
            if used:
                return Dropped(name, value, node, source, step)
    lost = tuple(it for it in _only_here(facts, node) if is_data(it))
    if lost and results:
        similar = _takes_similar(facts, node, results[-1])
        if similar is not None:
            return Dropped(name, results[-1], node, lost=lost, similar=similar)
    return None


def _origins(facts: Facts, node: Node) -> list[Value]:
    """What a line is made from that matters elsewhere, also through lines that are dead as well."""
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    pending = taken_by(facts, node)
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in facts.live:
            found[value] = None
        elif value.producer is not None:
            pending.extend(sources(value.producer, value))
    return list(found)


def _replaces(value: Value, source: Value) -> bool:
    """Whether a value could stand where its source does: of its shape, perhaps cast to floats."""
    is_float = jnp.issubdtype(value.dtype, jnp.floating)
    return (
        value.shape == source.shape
        and bool(value.shape)
        and (value.dtype == source.dtype or is_float)
    )


def _only_here(facts: Facts, node: Node) -> list[Value]:
    """Inputs that reach no output and that only this line uses, be it inside of loops and maps."""
    inputs = set(facts.program.body.inputs) - facts.live
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    pending = taken_by(facts, node)
    while pending:
        value = pending.pop()
        if value in seen or not _all_inside(facts, value, node):
            continue
        seen.add(value)
        if value in inputs:
            found[value] = None
        if value.producer is not None and _is_around(facts, value.producer, node):
            pending += sources(value.producer, value)
    return list(found)


def _all_inside(facts: Facts, value: Value, node: Node) -> bool:
    steps = [it for it in value.consumers if it.kind != "call" and not _is_around(facts, it, node)]
    return all(node.start <= facts.order.start[it] < node.end for it in steps)


def _is_around(facts: Facts, step: Step, node: Node) -> bool:
    """Whether a line is in the body of a step."""
    return facts.order.start[step] < node.start and node.end <= facts.order.end[step]


def _takes_similar(facts: Facts, node: Node, value: Value) -> Step | None:
    """The next step that matters, in the same function, on values of the same type."""
    function = node.place.function if node.place else ""
    for step in facts.order.steps[node.end :]:
        live = step.place is not None and any(it in facts.live for it in step.outputs)
        here = live and any(frame.function == function for frame in step.frames)
        if here and any(fits(value, it) or _wider(value, it) for it in step.inputs if is_data(it)):
            return step
    return None


def _wider(value: Value, other: Value) -> bool:
    """Whether two values differ in one size at most: parts of a concatenation."""
    if len(value.shape) != len(other.shape) or value.dtype != other.dtype or not value.shape:
        return False
    return sum(a != b for a, b in zip(value.shape, other.shape, strict=True)) <= 1


# --- state
