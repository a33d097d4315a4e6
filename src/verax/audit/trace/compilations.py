"""How often a jitted function has to be compiled, by the calls of one line.

Only calls from outside of any jitted function count: inside, they are inlined into one program.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..finding import Place
from .facts import Facts
from .program import Step, Value

# So many versions of one function, made by one line, are a pattern.
FEWEST = 4


@dataclass(frozen=True, eq=False)
class Recompiled:
    """Calls from one line that each need a compilation of their own.

    `argument` is the number of the flat argument whose shape changes, `None` if no shape does.
    """

    calls: list[Step]
    place: Place
    function: str
    versions: int
    argument: int | None

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the argument that changes, in order."""
        if self.argument is None:
            return []
        return [call.inputs[self.argument].shape for call in self.calls]


def recompilations(facts: Facts) -> Iterator[Recompiled]:
    """Lines that call one jitted function in ever new versions."""
    groups: dict[Any, list[Step]] = defaultdict(list)
    for step in facts.steps:
        if step.primitive != "jit" or step.place is None:
            continue
        if any(it.primitive == "jit" or it.kind in _COMPILED for it in step.ancestors()):
            continue
        body = step.bodies[0]
        if body.place is not None:
            groups[body.place, step.frames, len(step.inputs)].append(step)
    for (_, frames, _), calls in groups.items():
        if len(calls) >= FEWEST:
            found = _recompiled(frames[0], calls)
            if found is not None:
                yield found


_COMPILED = ("scan", "while", "cond", "shard")


def _recompiled(place: Place, calls: list[Step]) -> Recompiled | None:
    versions = len({id(call.params["jaxpr"]) for call in calls})
    function = calls[0].bodies[0].function
    if versions < FEWEST:
        return None
    changing = [
        number
        for number in range(len(calls[0].inputs))
        if len({_type(call.inputs[number]) for call in calls}) > 1
    ]
    for number in changing:
        if _goes_on([call.inputs[number].shape for call in calls]):
            return Recompiled(calls, place, function, versions, number)
    if not changing:
        # The same types, and yet another program: a static argument or another function.
        return Recompiled(calls, place, function, versions, None)
    return None


def _type(value: Value) -> str:
    return str(value.aval)


def _goes_on(shapes: list[tuple[int, ...]]) -> bool:
    """Whether one size grows or shrinks by a constant from call to call."""
    if len({len(shape) for shape in shapes}) != 1:
        return False
    columns = list(zip(*shapes, strict=True))
    moving = [column for column in columns if len(set(column)) > 1]
    if len(moving) != 1:
        return False
    (sizes,) = moving
    strides = {after - before for before, after in itertools.pairwise(sizes)}
    return len(strides) == 1
