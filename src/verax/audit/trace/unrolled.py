"""Python loops that tracing has unrolled into a long chain of equal steps.

What makes such a loop one over time, and not one over layers: each turn works on what the turn
before it has made, and takes the next slice of one array, or nothing else that is its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ..finding import Place
from .facts import Facts
from .program import Body, Step, Value
from .ranges.interval import kind_of
from .sources import Sources

# Shorter loops are quick to compile, and often clearer.
SHORTEST = 16


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A loop of the user's that was unrolled.

    `place` is its head, `array` what it takes slices of, if it does.
    """

    place: Place
    array: Value | None
    turns: int
    chained: int
    steps: int


def unrolled_loops(facts: Facts) -> Iterator[Unrolled]:
    """Every unrolled loop in what is compiled."""
    found: set[Place] = set()
    for body in _compiled(facts):
        for loop in (*_over_slices(body, facts.sources), *_repetitions(body, facts.sources)):
            if loop.place not in found:
                found.add(loop.place)
                yield loop


def _over_slices(body: Body, sources: Sources) -> Iterator[Unrolled]:
    """Loops that go through an array."""
    for (array, frames), slices in _slices(body).items():
        place = next(iter(sources.loops(frames)), None)
        if place is None or len(slices) < SHORTEST:
            continue
        chained = _chained(body, slices)
        if chained >= SHORTEST - 1:
            count = sum(1 for step in body.walk() if place in sources.loops(step.frames))
            yield Unrolled(place, array, len(slices), chained, count)


def _repetitions(body: Body, sources: Sources) -> Iterator[Unrolled]:
    """Loops that do the same to their own result, turn by turn."""
    by_head: dict[Place, list[Step]] = defaultdict(list)
    for step in body.walk():
        for place in sources.loops(step.frames):
            by_head[place].append(step)
    for place, steps in by_head.items():
        if len(steps) < SHORTEST:
            continue
        turns = _turns(steps)
        chained = 0 if turns is None else _handed_on(turns)
        if turns is not None and chained >= SHORTEST - 2 and not _has_parameters(turns):
            yield Unrolled(place, None, max(turns.values()) + 1, chained, len(steps))


def _turns(steps: list[Step]) -> dict[Step, int] | None:
    """The turn of each step of a loop, if every turn has the same steps."""
    kinds: dict[object, list[Step]] = defaultdict(list)
    for step in steps:
        outputs = tuple((value.shape, value.dtype) for value in step.outputs)
        kinds[step.frames, step.primitive, outputs].append(step)
    shortest = min((len(group) for group in kinds.values() if len(group) > 1), default=0)
    if shortest < SHORTEST:
        return None
    turns: dict[Step, int] = {}
    for group in kinds.values():
        # Several equal steps in a turn; the first turn may have some more.
        each = max(len(group) // shortest, 1)
        turns.update({step: number // each for number, step in enumerate(group)})
    return turns


def _handed_on(turns: dict[Step, int]) -> int:
    """How many turns read an array of numbers that the turn before them has made."""
    reading: set[int] = set()
    for step, turn in turns.items():
        for value in step.inputs:
            producer = value.producer
            is_number = kind_of(value.dtype).is_float and step.kind == "operation"
            if is_number and producer is not None and turns.get(producer) == turn - 1:
                reading.add(turn)
    return len(reading)


def _has_parameters(turns: dict[Step, int]) -> bool:
    """Whether turns have arrays of their own from outside, as layers have."""
    own: dict[Value, set[int]] = defaultdict(set)
    for step, turn in turns.items():
        for value in step.inputs:
            if value.producer not in turns and not value.is_constant:
                own[value].add(turn)
    return sum(len(used) == 1 for used in own.values()) >= SHORTEST // 2


def _compiled(facts: Facts) -> Iterator[Body]:
    """The bodies of jitted functions and loops, but not those that are inlined into such a one."""
    for step in facts.steps:
        if step.kind == "call" and any(it.primitive == "jit" for it in step.ancestors()):
            continue
        if step.primitive == "jit" or step.kind in ("scan", "while"):
            yield from step.bodies


def _slices(body: Body) -> dict[tuple[Value, tuple[Place, ...]], list[Step]]:
    """Steps that take one element of an array along an axis, by array and line."""
    found: dict[tuple[Value, tuple[Place, ...]], list[Step]] = defaultdict(list)
    starts: dict[tuple[Value, tuple[Place, ...]], set[tuple[int, ...]]] = defaultdict(set)
    for step in body.walk():
        if step.primitive != "slice" or not step.frames:
            continue
        array = step.inputs[0]
        smaller = sum(a != b for a, b in zip(array.shape, step.outputs[0].shape, strict=True))
        key = (array, step.frames)
        start = tuple(step.params["start_indices"])
        if smaller == 1 and start not in starts[key]:
            starts[key].add(start)
            found[key].append(step)
    return found


def _chained(body: Body, slices: list[Step]) -> int:
    """How many turns, one after the other, work on what the turn before them has made.

    Each value gets the last turn that it depends on and the length of the chain up to there.
    """
    turns = {step: number for number, step in enumerate(slices)}
    labels: dict[Value, tuple[int, int]] = {}
    longest = 0
    for step in body.walk():
        if step in turns:
            labels[step.outputs[0]] = (turns[step], 1)
            continue
        if step.kind in ("call", "map", "derive"):
            continue  # Its body's steps follow.
        inputs = [labels[value] for value in step.inputs if value in labels]
        if not inputs:
            continue
        last = max(turn for turn, _ in inputs)
        length = max(length for turn, length in inputs if turn == last)
        before = [length for turn, length in inputs if turn == last - 1]
        if before and step.primitive != "concatenate":
            length = max(length, max(before) + 1)
        longest = max(longest, length)
        for value in step.outputs:
            labels[value] = (last, length)
    return longest
