"""How a finding names what an operation works on."""

from __future__ import annotations

from .describe import assigned_name, name_of
from .facts import Facts
from .program import Value

_PARTS = frozenset("slice dynamic_slice gather".split())
_REARRANGED = frozenset(
    """convert_element_type broadcast_in_dim reshape squeeze expand_dims transpose stop_gradient
    copy""".split()
)


def phrase(facts: Facts, value: Value) -> str:
    """The user's name of a value, or of the one that it is a part of, or its type and line."""
    if value.is_constant and value.shape == ():
        return str(value.constant)
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
    return name_of(facts, value)
