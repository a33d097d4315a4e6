"""How a finding names what an operation works on."""

from __future__ import annotations

from .describe import assigned_name, listed, name_of
from .facts import Facts
from .program import Step, Value

_PARTS = frozenset("slice dynamic_slice gather".split())
_REARRANGED = frozenset(
    """convert_element_type broadcast_in_dim reshape squeeze expand_dims transpose stop_gradient
    copy""".split()
)


# A statement longer than this is no name.
_MOST_LETTERS = 60


def phrase(facts: Facts, value: Value) -> str:
    """The user's name of a value, or of the one that it is a part of, or its type and line."""
    if value.is_constant and value.shape == ():
        return str(value.constant)
    return _named(facts, value) or name_of(facts, value)


def line_phrase(facts: Facts, step: Step, preposition: str, values: list[Value]) -> str:
    """What the line of a step works on: `by x and y at line 9`.

    Where a value has no name, the line is quoted, "in `z = x / f(y)` at line 9", or its function
    named if it is long.
    """
    place = facts.place(step)
    named = [_named(facts, it) for it in values]
    if all(named):
        return f"{preposition} {listed(named)} at line {place.line}"
    statement = facts.sources.statement(place)
    text = statement.text if statement is not None else ""
    quoted = text if 0 < len(text) <= _MOST_LETTERS else place.function
    return f"in `{quoted}` at line {place.line}"


def _named(facts: Facts, value: Value) -> str:
    is_part = False
    current = value
    for _ in range(8):
        name = assigned_name(facts, current)
        if name:
            return f"a part of {name}" if is_part else name
        step = current.producer
        if step is None or step.kind != "operation" or not step.inputs:
            break
        if step.primitive not in _PARTS | _REARRANGED:
            break
        is_part = is_part or step.primitive in _PARTS
        current = step.inputs[0]
    return ""
