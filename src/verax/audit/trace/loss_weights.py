"""How much one example weighs in a loss: whether the loss is a mean over examples, or a sum.

A loss whose value grows with the batch gives gradients that do. That matters only where the scale
of the gradient survives: what divides by its size afterwards (Adam, clipping by norm, a count of
examples) makes up for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..words import is_batch
from .axes.axis import Axis
from .facts import Facts
from .gradients import Flow
from .program import Value
from .reductions import Part, Reduction, parts_of

_NORMALISING = ("div", "rsqrt", "sqrt", "sign", "psum", "pmean", "reduce_max")


@dataclass(frozen=True, eq=False)
class SummedBatch:
    """A part of a loss that is averaged over some axes, and summed over independent examples."""

    summed: Reduction
    averaged: Reduction
    batch: Axis


def summed_batches(facts: Facts) -> Iterator[SummedBatch]:
    """Losses that grow with the number of examples, though they average over something else."""
    for flow in facts.gradients.flows:
        if flow.detail.kind != "grad" or not flow.results or flow.results[0].shape != ():
            continue
        if _is_per_example(facts, flow):
            continue
        for part in parts_of(facts, flow.results[0]):
            found = _summed_batch(facts, flow, part)
            if found is not None and not _is_normalised(facts, flow):
                yield found
                break


def _summed_batch(facts: Facts, flow: Flow, part: Part) -> SummedBatch | None:
    averaged = [it for it in part.reductions if it.is_mean]
    if not averaged or not flow.gets(part.value):
        return None
    if any(is_batch(axis.label) for it in averaged for axis in it.axes):
        return None
    for summed in part.reductions:
        batch = [axis for axis in summed.axes if is_batch(axis.label)]
        if summed.is_mean or len(batch) != 1 or not facts.is_in_users_function(summed.step):
            continue
        size = _size(facts, summed, batch[0])
        if size > 1 and not part.is_divided_by(size):
            return SummedBatch(summed, averaged[0], batch[0])
    return None


def _size(facts: Facts, summed: Reduction, axis: Axis) -> int:
    value = summed.step.inputs[0]
    return value.shape[facts.axes[value].index(axis)]


def _is_per_example(facts: Facts, flow: Flow) -> bool:
    """Whether something differentiated belongs to one example: a sum keeps gradients apart then."""
    return any(is_batch(axis.label) for it in flow.parameters for axis in facts.axes[it.value])


def _is_normalised(facts: Facts, flow: Flow) -> bool:
    """Whether something that follows from the loss or its gradient takes the scale out again."""
    pending: list[Value] = [*flow.step.outputs]
    for applied in flow.detail.applied:
        pending += applied.outputs
    seen: set[Value] = set(pending)
    while pending:
        for made, step in facts.variation.made_from(pending.pop()):
            if step.primitive.startswith(_NORMALISING) or step.kind == "opaque":
                return True
            if made not in seen:
                seen.add(made)
                pending.append(made)
    return False
