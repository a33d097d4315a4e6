"""Values that are standardised and then meet the same weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..program import Step, Value
from .copies import PARTS, before_copy, root
from .kinds import Meaning

if TYPE_CHECKING:
    from ..axes.axis import Axis
    from ..facts import Facts


def standardised_siblings(facts: Facts) -> Iterator[tuple[Meaning, Meaning, Value]]:
    """Pairs that share weights: the first is standardised over all axes, the second over fewer.

    The axis that the weights sum over is one that the second keeps.
    """
    by_weights: dict[Value, list[tuple[Meaning, Axis]]] = defaultdict(list)
    for step in facts.steps:
        if step.primitive == "dot_general":
            for meaning, weights, summed in _standardised_operands(facts, step):
                by_weights[weights].append((meaning, summed))
    for weights, found in by_weights.items():
        wholes = [it for it, _ in found if len(it.axes) == len(it.of.shape) > 1]
        kept = [it for it, axis in found if axis not in _axes(facts, it)]
        if wholes and kept:
            yield wholes[0], kept[0], weights


def _axes(facts: Facts, it: Meaning) -> list[Axis]:
    return [facts.axes[it.of][index] for index in it.axes]


def _standardised_operands(facts: Facts, step: Step) -> Iterator[tuple[Meaning, Value, Axis]]:
    sums, _ = step.params["dimension_numbers"]
    for index, (operand, other) in enumerate((step.inputs[:2], step.inputs[1::-1])):
        meaning, weights = _standardised(facts, operand), root(other)
        if meaning is not None and weights.producer is None and len(sums[index]) == 1:
            yield meaning, weights, facts.axes[operand][sums[index][0]]


def _standardised(facts: Facts, value: Value) -> Meaning | None:
    """How a value was standardised, if all that happened to it since are copies."""
    before: Value | None = value
    while before is not None:
        value = before
        found = facts.meaning.get(value)
        if found is not None and found.kind == "standardised":
            return found
        step = value.producer
        is_part = step is not None and step.primitive in PARTS
        before = step.inputs[0] if step is not None and is_part else before_copy(value)
    return None
