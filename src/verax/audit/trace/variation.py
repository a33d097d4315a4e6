"""Over which loops and mapped axes a value changes.

A value inside of a `scan` may be the same in every iteration, one inside of a `vmap` the same in
every lane. Here every value gets the set of those steps over which it can differ: it is a slice, a
lane or a carry that is not handed on as it came, or is made from one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from .program import Loop, Mapping, Program, Sharding, Step, Value

# A value, what is made from it, and by which step.
Edge = tuple[Value, Value, Step]

_NOTHING: frozenset[Step] = frozenset()


class Variation:
    """For each value, the loops, maps and shards over which it changes."""

    def __init__(self, program: Program):
        self._by_source: dict[Value, list[tuple[Value, Step]]] = defaultdict(list)
        self._found: dict[Value, set[Step]] = defaultdict(set)
        seeds: list[tuple[Value, Step]] = []
        for step in program.walk():
            for source, target, by in edges(step):
                self._by_source[source].append((target, by))
            seeds += _changing(step)
        self._spread(seeds)

    def _spread(self, pending: list[tuple[Value, Step]]) -> None:
        while pending:
            value, over = pending.pop()
            found = self._found[value]
            if over in found:
                continue
            found.add(over)
            for target, by in self._by_source.get(value, ()):
                # What comes out of a loop or a map is one value for all of it.
                if not (by is over and target in by.outputs):
                    pending.append((target, over))

    def of(self, value: Value) -> frozenset[Step]:
        """The steps over which a value changes."""
        return frozenset(self._found.get(value, _NOTHING))

    def changes(self, value: Value, over: Step) -> bool:
        """Whether a value changes over the iterations, lanes or shards of a step."""
        return over in self._found.get(value, _NOTHING)

    def made_from(self, value: Value) -> list[tuple[Value, Step]]:
        """What is made from a value directly, and by which step."""
        return self._by_source.get(value, [])


def edges(step: Step) -> Iterator[Edge]:
    """What a step itself makes from what. The steps in its bodies speak for themselves."""
    detail = step.detail
    if step.kind == "call":
        return
    if isinstance(detail, Loop):
        yield from _loop(step, detail)
    elif isinstance(detail, Mapping):
        for outer, inner, _ in detail.mapped:
            yield outer, inner, step
        for outer, inner, _ in detail.results:
            yield inner, outer, step
    elif isinstance(detail, Sharding):
        for outer, inner, _ in detail.inputs:
            if outer is not inner:
                yield outer, inner, step
        for outer, inner, _ in detail.outputs:
            yield inner, outer, step
    elif step.kind == "derive":
        for outer, inner in detail.differentiated:
            yield outer, inner, step
    elif step.kind == "cond":
        for branch in step.bodies:
            for inner, outer in zip(branch.outputs, step.outputs, strict=True):
                yield inner, outer, step
        for outer in step.outputs:
            yield step.inputs[0], outer, step
    else:
        for source in step.inputs:
            for target in step.outputs:
                yield source, target, step


def _loop(step: Step, loop: Loop) -> Iterator[Edge]:
    for initial, carry, carried, final in zip(
        loop.initial, loop.carry, loop.carried, loop.final, strict=True
    ):
        yield initial, carry, step
        yield carried, carry, step
        yield initial, final, step
        yield carried, final, step
    for outer, inner in zip(loop.scanned, loop.slices, strict=True):
        yield outer, inner, step
    for inner, outer in zip(loop.stacks, loop.stacked, strict=True):
        yield inner, outer, step
    if loop.condition is not None:
        for final in loop.final:
            yield loop.condition, final, step


def _changing(step: Step) -> Iterator[tuple[Value, Step]]:
    """The values that a step itself lets change over it."""
    detail = step.detail
    if isinstance(detail, Loop):
        for carry, carried in zip(detail.carry, detail.carried, strict=True):
            if carry is not carried:
                yield carry, step
        for inner in detail.slices:
            yield inner, step
    elif isinstance(detail, Mapping):
        for _, inner, _ in detail.mapped:
            yield inner, step
    elif isinstance(detail, Sharding):
        for outer, inner, _ in detail.inputs:
            if outer is not inner:
                yield inner, step
    elif step.primitive == "axis_index":
        yield from ((step.outputs[0], owner) for owner in _named(step))


def _named(step: Step) -> Iterator[Step]:
    """The maps and shards around a step that its axis name stands for."""
    wanted = step.params.get("axis_name")
    for owner in step.ancestors():
        if isinstance(owner.detail, Mapping) and owner.detail.axis_name == wanted:
            yield owner
        if isinstance(owner.detail, Sharding) and wanted in owner.detail.mesh:
            yield owner
