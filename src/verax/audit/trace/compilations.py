"""How often a jitted function has to be compiled, by the calls of a program.

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
    for function, step in _calls(facts):
        groups[function, step.frames].append(step)
    for (_, frames), calls in groups.items():
        if len(calls) >= FEWEST:
            found = _recompiled(frames[0], calls)
            if found is not None:
                yield found


_COMPILED = ("scan", "while", "cond", "shard")


def _calls(facts: Facts) -> Iterator[tuple[Any, Step]]:
    """Calls of the user's jitted functions from outside of compiled code, each with which it is."""
    for step in facts.steps:
        if step.primitive != "jit" or step.place is None:
            continue
        if any(it.primitive == "jit" or it.kind in _COMPILED for it in step.ancestors()):
            continue
        body = step.bodies[0]
        if body.place is not None:
            yield (body.place, len(step.inputs)), step


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
    if changing and _is_item_by_item(calls, changing):
        return Recompiled(calls, place, function, versions, changing[0])
    if not changing:
        # The same types, and yet another program: a static argument or another function.
        return Recompiled(calls, place, function, versions, None)
    return None


def _is_item_by_item(calls: list[Step], changing: list[int]) -> bool:
    """Whether the same parameters meet one item after the other, none as long as another.

    Layers of a model, each with arrays of its own, come with no array that they share, and differ
    in more than one size. What each item looks up in one and the same array is shared as well.
    """
    shapes = [[call.inputs[number].shape for call in calls] for number in changing]
    shared: list[set[Value | None]] = [
        {call.inputs[number] for call in calls}
        for number, value in enumerate(calls[0].inputs)
        if value.shape and number not in changing
    ]
    looked_up = [{_looked_up_in(call.inputs[number]) for call in calls} for number in changing]
    shared += [tables for tables in looked_up if None not in tables]
    all_differ = len(set(zip(*shapes, strict=True))) == len(calls)
    return all_differ and any(len(it) == 1 for it in shared) and all(map(_moves_once, shapes))


_KEPT = ("reshape", "squeeze", "convert_element_type", "broadcast_in_dim", "copy")


def _looked_up_in(value: Value) -> Value | None:
    """The array in which rows are looked up by number, if that is all there is to a value."""
    step = value.producer
    while step is not None and step.primitive in _KEPT:
        step = step.inputs[0].producer
    return step.inputs[0] if step is not None and step.primitive == "gather" else None


def _moves_once(shapes: list[tuple[int, ...]]) -> bool:
    """Whether arrays differ in the size of one axis, and that alone."""
    return len(_moving(shapes)) == 1


def _moving(shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The sizes of each axis that is not of the same size everywhere."""
    if len({len(shape) for shape in shapes}) != 1:
        return []
    return [column for column in zip(*shapes, strict=True) if len(set(column)) > 1]


def _type(value: Value) -> str:
    return str(value.aval)


def _goes_on(shapes: list[tuple[int, ...]]) -> bool:
    """Whether one size grows or shrinks by a constant from call to call."""
    moving = _moving(shapes)
    if len(moving) != 1:
        return False
    (sizes,) = moving
    strides = {after - before for before, after in itertools.pairwise(sizes)}
    return len(strides) == 1


@dataclass(frozen=True, eq=False)
class Retyped:
    """Two calls of a function that differ in type only where one is given a Python number.

    `argument` is the number of the first flat argument that differs, `name` what the function
    calls it, if that is known.
    """

    weak: Step
    strong: Step
    argument: int
    name: str


def weak_type_versions(facts: Facts) -> Iterator[Retyped]:
    """Functions that are compiled twice for the same types, but for how they promote.

    A number of Python (`0.0`) has a weak type. What a function returns for it often has not, so
    that a loop which starts with one compiles its step in the second turn once more. A function
    that is called by several lines, with numbers here and arrays there, is left alone.
    """
    groups: dict[Any, list[Step]] = defaultdict(list)
    for function, step in _calls(facts):
        groups[function].append(step)
    for calls in groups.values():
        found = next(filter(None, itertools.starmap(_retyped, itertools.pairwise(calls))), None)
        if found is not None:
            yield found


def _retyped(first: Step, second: Step) -> Retyped | None:
    before, after = first.params["jaxpr"].in_avals, second.params["jaxpr"].in_avals
    if [_strong(it) for it in before] != [_strong(it) for it in after]:
        return None
    differing = [
        number
        for number, (one, other) in enumerate(zip(before, after, strict=True))
        if one.weak_type != other.weak_type
    ]
    fed_back = [it for it in differing if second.inputs[it] in first.outputs]
    if not differing or not (fed_back or first.frames == second.frames):
        return None
    number = (fed_back or differing)[0]
    weak, strong = (first, second) if before[number].weak_type else (second, first)
    names = first.params["jaxpr"].jaxpr.debug_info.arg_names or ()
    name = names[number] if len(names) == len(before) else ""
    return Retyped(weak, strong, number, name)


def _strong(aval: Any) -> tuple[Any, Any]:
    return getattr(aval, "shape", None), getattr(aval, "dtype", None)
