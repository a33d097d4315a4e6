"""Rows of several arrays that one random key selects or reorders alike.

Inputs and targets that belong together are shuffled with one key, one after the other: both get
the same order. JAX draws the indices in a call of its own, and takes rows at these, or sorts the
one array that has no rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .program import Step, Value

if TYPE_CHECKING:
    from .facts import Facts

# JAX's own functions around what `permutation`, `choice` and `randint` draw.
_SHUFFLE = "_shuffle"
_DRAWS_INDICES = frozenset((_SHUFFLE, "_randint"))
# What happens to indices before they are used: those below zero are counted from the end.
_PREPARED = frozenset(
    "lt add select_n convert_element_type broadcast_in_dim reshape squeeze slice".split()
)
_MOST_STEPS = 100


def select_alike(facts: Facts, one: Step, other: Step) -> bool:
    """Whether two calls that get one key select the same rows, of different arrays."""
    name = one.params.get("name")
    if name not in _DRAWS_INDICES or name != other.params.get("name"):
        return False
    if [it.shape for it in one.outputs] != [it.shape for it in other.outputs]:
        return False
    if name != _SHUFFLE and not _have_equal_bounds(one, other):
        return False
    arrays = _selected_from(facts, one), _selected_from(facts, other)
    return all(arrays) and arrays[0].isdisjoint(arrays[1])


def _have_equal_bounds(one: Step, other: Step) -> bool:
    """Whether two calls draw indices from the same range."""
    return all(
        a is b or (a.is_constant and b.is_constant and np.array_equal(a.constant, b.constant))
        for a, b in zip(one.inputs[1:], other.inputs[1:], strict=True)
    )


def _selected_from(facts: Facts, call: Step) -> set[Value]:
    """The arrays whose rows a call selects; none if what it draws has another use as well."""
    if call.params["name"] == _SHUFFLE and not _is_range(call.inputs[1]):
        return {call.inputs[1]}
    arrays: set[Value] = set()
    pending, seen = list(call.outputs), set(call.outputs)
    while pending and len(seen) < _MOST_STEPS:
        indices = pending.pop()
        uses = facts.variation.made_from(indices)
        if not uses or indices.dtype.kind not in "iub":
            return set()
        for made, step in uses:
            if step.primitive == "gather" and step.inputs[0] is not indices:
                arrays.add(step.inputs[0])
            elif step.primitive not in _PREPARED:
                return set()
            elif made not in seen:
                seen.add(made)
                pending.append(made)
    return arrays


def _is_range(value: Value) -> bool:
    return value.producer is not None and value.producer.primitive == "iota"
