"""Which values some output depends on.

Backwards from the outputs, through boundaries: a scan's result needs what its body stacks, what the
body stacks may need the carry, and so on around the loop. What a callback, an assertion or a write
into a reference gets counts as an output too.
"""

from __future__ import annotations

from .program import Program, Step, Value


def live_values(program: Program) -> frozenset[Value]:
    """All values from which a path leads to an output of the program."""
    seen_outside = [value for step in program.walk() if acts(step) for value in step.inputs]
    return needed_for([*program.body.outputs, *seen_outside])


# Steps whose effect is not in their results. `emit` is verax's own, for assertions.
_ACTING = {"emit", "swap", "addupdate", "outfeed", "custom_partitioning_call"}


def acts(step: Step) -> bool:
    """Whether a step does something that can be noticed beside its results."""
    name = step.primitive
    return name in _ACTING or "callback" in name or name.startswith("debug_")


def needed_for(values: list[Value]) -> frozenset[Value]:
    """All values from which a path leads to one of these."""
    live: set[Value] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if value not in live:
            live.add(value)
            if value.producer is not None:
                pending.extend(sources(value.producer, value))
    return frozenset(live)


def sources(step: Step, value: Value) -> list[Value]:
    """What a value is made from, by the step that makes it.

    For a value inside of a step's body that the step itself makes (the carry, a slice, an element),
    these are values outside of the body, and, around a loop, what the last iteration handed on.
    """
    return _SOURCES.get(step.kind, _all_inputs)(step, value)


def _all_inputs(step: Step, value: Value) -> list[Value]:
    return step.inputs


def _call(step: Step, value: Value) -> list[Value]:
    # Outputs of a call are made by the steps of its body, or are its inputs.
    return []


def _loop(step: Step, value: Value) -> list[Value]:
    loop = step.detail
    found: list[Value] = []
    if value in loop.carry:
        index = loop.carry.index(value)
        found += [loop.initial[index], loop.carried[index]]
    if value in loop.final:
        index = loop.final.index(value)
        found += [loop.initial[index], loop.carried[index]]
    if value in loop.slices:
        found.append(loop.scanned[loop.slices.index(value)])
    if value in loop.stacked:
        found.append(loop.stacks[loop.stacked.index(value)])
    if loop.condition is not None:
        found.append(loop.condition)
    return found


def _cond(step: Step, value: Value) -> list[Value]:
    index = step.outputs.index(value)
    return [step.inputs[0], *(branch.outputs[index] for branch in step.bodies)]


def _map(step: Step, value: Value) -> list[Value]:
    mapping = step.detail
    for outer, inner, _ in mapping.mapped:
        if value is inner:
            return [outer]
    return [inner for out, inner, _ in mapping.results if out is value]


def _shard(step: Step, value: Value) -> list[Value]:
    sharding = step.detail
    inside = [outer for outer, inner, _ in sharding.inputs if inner is value]
    return inside or [inner for out, inner, _ in sharding.outputs if out is value]


def _derive(step: Step, value: Value) -> list[Value]:
    return [outer for outer, inner in step.detail.differentiated if inner is value]


def _derivative(step: Step, value: Value) -> list[Value]:
    # A derivative depends on all that the differentiated results are computed from.
    of = step.detail
    return step.inputs if of is None else [*step.inputs, *of.outputs[: of.detail.results]]


_SOURCES = {
    "call": _call,
    "scan": _loop,
    "while": _loop,
    "cond": _cond,
    "map": _map,
    "shard": _shard,
    "derive": _derive,
    "derivative": _derivative,
}
