"""Values that a line assigns and that reach no output, where they were evidently meant to.

Dead values are common in correct code. One is reported only where the name is never read again,
and where something says that it should have been: the value that it was made from is used later
where the new one would fit, or an input reaches no output because of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..finding import Place
from .describe import assigned_name
from .facts import Facts
from .liveness import sources
from .meaning.copies import root
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
        if name.startswith("_") or not _unread(facts, node, name):
            continue
        reason = _reason(facts, node, name)
        if reason is not None:
            found.setdefault((node.place, name), reason)
    return list(found.values())


def _walk(nodes: Iterable[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _walk(node.children)


def _dead_lines(facts: Facts) -> Iterator[Node]:
    """Lines none of whose results reaches an output."""
    for node in _walk(facts.lines):
        produced = _results(facts, node)
        if produced and node.place is not None and not any(it in facts.live for it in produced):
            yield node


def _results(facts: Facts, node: Node) -> list[Value]:
    """What a line makes and something after it uses, or else what nothing in it uses."""
    made = [
        value
        for step in facts.order.steps[node.start : node.end]
        for value in step.outputs
        if value.producer is step
    ]
    beyond = [it for it in made if facts.order.reaches_beyond(it, node)]
    return [*beyond, *(it for it in made if not it.consumers and it not in beyond)]


def _unread(facts: Facts, node: Node, name: str) -> bool:
    return node.place is not None and facts.sources.is_unread(node.place, name)


def _reason(facts: Facts, node: Node, name: str) -> Dropped | None:
    results = [it for it in _results(facts, node) if is_data(it)]
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


def is_data(value: Value) -> bool:
    """Whether a value is numbers with a meaning: no key, no flag, not known while tracing."""
    return (
        not value.is_constant
        and isinstance(value.dtype, np.dtype)
        and bool(np.issubdtype(value.dtype, np.number))
        and value.dtype != np.uint32
    )


def _origins(facts: Facts, node: Node) -> list[Value]:
    """What a line is made from that matters elsewhere, also through lines that are dead as well."""
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    pending = _taken(facts, node)
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
    is_float = bool(np.issubdtype(value.dtype, np.floating))
    return (
        value.shape == source.shape
        and bool(value.shape)
        and (value.dtype == source.dtype or is_float)
    )


def _fits(value: Value, source: Value) -> bool:
    return value.shape == source.shape and value.dtype == source.dtype and bool(value.shape)


def _taken(facts: Facts, node: Node) -> list[Value]:
    """What a line uses of what was there before it."""
    found: dict[Value, None] = {}
    for step in facts.order.steps[node.start : node.end]:
        for value in step.inputs:
            if facts.order.made_at(value) < node.start:
                found[value] = None
    return list(found)


def used_after(facts: Facts, value: Value, node: Node) -> tuple[bool, Step | None]:
    """Whether a value is used after a line by something that matters, and by which step.

    Only uses in the same body count; what a call does with it is found in the steps of the call.
    """
    order = facts.order
    for step in value.consumers:
        # A derivative takes all that its function was given, after that has run.
        later = order.start[step] >= node.end and step.kind not in ("call", "derivative")
        if later and any(it in facts.live for it in step.outputs) and step.place is not None:
            return True, step
    returned = value in facts.program.body.outputs
    return returned, None


def _only_here(facts: Facts, node: Node) -> list[Value]:
    """Inputs that reach no output and that only this line uses, be it inside of loops and maps."""
    inputs = set(facts.program.body.inputs) - facts.live
    found: dict[Value, None] = {}
    seen: set[Value] = set()
    pending = _taken(facts, node)
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
        if here and any(_fits(value, it) or _wider(value, it) for it in step.inputs if is_data(it)):
            return step
    return None


def _wider(value: Value, other: Value) -> bool:
    """Whether two values differ in one size at most: parts of a concatenation."""
    if len(value.shape) != len(other.shape) or value.dtype != other.dtype or not value.shape:
        return False
    return sum(a != b for a, b in zip(value.shape, other.shape, strict=True)) <= 1


# --- state


@dataclass(frozen=True)
class DroppedState:
    """A new version of a state that a line computes and drops, while the old one is used on.

    `used_by` is `None` where the old one is returned; `target` is the name that the new one goes
    to, if the line has one for it.
    """

    value: Value
    old: Value
    place: Place
    used_by: Step | None
    target: str


def dropped_states(facts: Facts) -> list[DroppedState]:
    """States among the results of lines that assign several names, and those returned unchanged."""
    if facts.traced.failure is not None:
        return []
    found: dict[object, DroppedState] = {}
    for node in _walk(facts.lines):
        if (
            len(" ".join(node.targets).split(",")) + len(node.targets) < 3
            or node.place is None
            or node.place in found
        ):
            continue
        dropped = _dropped_state(facts, node)
        if dropped is not None:
            found[node.place] = dropped
    known = {it.old for it in found.values()}
    for state in _returned_unchanged(facts):
        if state.old not in known:
            found.setdefault(state.place, state)
    return list(found.values())


def _dropped_state(facts: Facts, node: Node) -> DroppedState | None:
    dead = [it for it in _results(facts, node) if it not in facts.live and is_data(it)]
    if not dead:
        return None
    names = re.findall(r"[A-Za-z_]\w*", " ".join(node.targets))
    ignored = next((name for name in names if name.startswith("_")), "")
    unread = next((it for it in names if not it.startswith("_") and _unread(facts, node, it)), "")
    if not ignored and not unread:
        return None
    taken = [it for it in _taken(facts, node) if is_data(it)]
    for value in dead:
        old = averaged_from(value) or decayed_from(facts, value)
        if old is None and unread:
            old = next((it for it in taken if _fits(value, it) and _updates(value, it)), None)
        if old is None or root(old) not in {*taken, *map(root, taken)}:
            continue
        used, step = used_after(facts, root(old), node)
        if used or _is_kept(facts, root(old)):
            assert node.place is not None
            return DroppedState(value, root(old), node.place, step, unread or ignored)
    return None


def _returned_unchanged(facts: Facts) -> Iterator[DroppedState]:
    """Moving averages and momenta of an input that is itself an output, where they are none."""
    outputs = set(map(root, facts.program.body.outputs))
    for step in facts.steps:
        if step.primitive != "add" or step.place is None:
            continue
        (value,) = step.outputs
        old = averaged_from(value) or decayed_from(facts, value)
        if old is None or old not in outputs or old not in facts.program.body.inputs:
            continue
        same_type = is_data(old) and value.shape == old.shape
        if same_type and not outputs & needed_after(value):
            yield DroppedState(value, old, step.place, None, "")


def needed_after(value: Value) -> set[Value]:
    """A value and what only hands it on: casts, choices by a condition, ends of loops."""
    found = {value}
    pending = [value]
    while pending:
        for step in pending.pop().consumers:
            if step.primitive in ("select_n", "convert_element_type", "copy", "stop_gradient"):
                pending += [it for it in step.outputs if it not in found]
                found.update(step.outputs)
    return found


def _updates(value: Value, old: Value) -> bool:
    """Whether a value is an old one, changed: made from it by one or two elementwise steps."""
    made: Value | None = value
    for _ in range(3):
        if made is None or made.producer is None:
            return False
        became = _became(made.producer, made)
        if any(root(it) is root(old) for it in became):
            return True
        made = next((it for it in became if it.producer and _fits(it, value)), None)
    return False


def _became(step: Step, value: Value) -> Sequence[Value]:
    """What a step makes into a value: a loop, of all that it takes, what it starts from."""
    if step.kind not in ("scan", "while"):
        return step.inputs
    pairs = zip(step.detail.initial, step.detail.final, strict=True)
    return [start for start, end in pairs if end is value]


def averaged_from(value: Value) -> Value | None:
    """`x` where a value is a moving average `c * x + (1 - c) * y` with a constant `c`."""
    step = root(value).producer
    if step is None or step.primitive != "add":
        return None
    parts = [_scaled_by_constant(it) for it in step.inputs]
    if any(it is None for it in parts):
        return None
    (one, a), (other, b) = [it for it in parts if it is not None]
    if abs(a + b - 1.0) > 1e-4 or not (0.0 < a < 1.0):
        return None
    for candidate in (one, other):
        source = root(candidate)
        if source.producer is None or _carried(source) is not None:
            return source
    return None


def _carried(value: Value) -> tuple[Value, Value] | None:
    """Of what a turn of a loop is given: what it hands on in its place, and what comes out."""
    step = value.producer
    loop = step.detail if step is not None and step.kind in ("scan", "while") else None
    if loop is None or value not in loop.carry:
        return None
    index = loop.carry.index(value)
    return loop.carried[index], loop.final[index]


def _is_kept(facts: Facts, state: Value) -> bool:
    """Whether a loop hands a state on as it was, to somebody who reads it."""
    carried = _carried(state)
    return carried is not None and root(carried[0]) is state and carried[1] in facts.live


def decayed_from(facts: Facts, value: Value) -> Value | None:
    """`x` where a value is `c * x + y` with a constant `c` below one, and `x` itself is returned.

    That is how momentum is kept. Only where the old one is handed back, so that a state it is.
    """
    step = root(value).producer
    if step is None or step.primitive != "add":
        return None
    for part in step.inputs:
        scaled = _scaled_by_constant(part)
        if scaled is not None and 0.0 < scaled[1] < 1.0:
            source = root(scaled[0])
            if source in facts.program.body.outputs and source.producer is None:
                return source
    return None


def _scaled_by_constant(value: Value) -> tuple[Value, float] | None:
    step = root(value).producer
    if step is None or step.primitive != "mul":
        return None
    for one, other in (step.inputs, step.inputs[::-1]):
        constant: Any = root(other).constant
        if constant is not None and np.size(constant) == 1:
            return one, float(np.ravel(constant)[0])
    return None


def describe(facts: Facts, value: Value) -> str:
    """The name of a value, for a message, or the type of what has none."""
    from .describe import name_of

    return assigned_name(facts, value) or name_of(facts, value)
