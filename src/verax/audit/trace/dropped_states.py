"""New states that a line makes and drops, while the old one is used on: averages, momenta."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..finding import Place
from .facts import Facts
from .line_values import every_line, fits, is_data, is_unread, results_of, taken_by, used_after
from .meaning.copies import root
from .program import Step, Value
from .sections.lines import Node


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
    for node in every_line(facts.lines):
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
    dead = [it for it in results_of(facts, node) if it not in facts.live and is_data(it)]
    if not dead:
        return None
    names = re.findall(r"[A-Za-z_]\w*", " ".join(node.targets))
    ignored = next((name for name in names if name.startswith("_")), "")
    unread = next((it for it in names if not it.startswith("_") and is_unread(facts, node, it)), "")
    if not ignored and not unread:
        return None
    taken = [it for it in taken_by(facts, node) if is_data(it)]
    for value in dead:
        old = _averaged_from(value) or _decayed_from(facts, value)
        if old is None and unread:
            old = next((it for it in taken if fits(value, it) and _updates(value, it)), None)
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
        old = _averaged_from(value) or _decayed_from(facts, value)
        if old is None or old not in outputs or old not in facts.program.body.inputs:
            continue
        same_type = is_data(old) and value.shape == old.shape
        if same_type and not outputs & _needed_after(value):
            yield DroppedState(value, old, step.place, None, "")


def _needed_after(value: Value) -> set[Value]:
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
        made = next((it for it in became if it.producer and fits(it, value)), None)
    return False


def _became(step: Step, value: Value) -> Sequence[Value]:
    """What a step makes into a value: a loop, of all that it takes, what it starts from."""
    if step.kind not in ("scan", "while"):
        return step.inputs
    pairs = zip(step.detail.initial, step.detail.final, strict=True)
    return [start for start, end in pairs if end is value]


def _averaged_from(value: Value) -> Value | None:
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


def _decayed_from(facts: Facts, value: Value) -> Value | None:
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
