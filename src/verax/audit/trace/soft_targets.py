"""Cross-entropies whose wanted distribution is itself a prediction, moved by data."""

from __future__ import annotations

from collections.abc import Iterator

from ..predictions import is_model_elsewhere
from .bootstraps import Bootstrap
from .gradients import Flow, plain, steps_of
from .loss_terms import Error, terms
from .program import Step, Value
from .sameness import Sameness

_PRODUCTS = ("mul", "dot_general")
_SUMS = ("add", "add_any", "sub", "neg", "reduce_sum")


def soft_bootstraps(flow: Flow) -> Iterator[Bootstrap]:
    """Sums `wanted * log(predicted)` in which what is wanted has a gradient of the same model."""
    shapes = Sameness(blind=lambda value: not flow.gets(value))
    for step in steps_of(flow.body):
        if step.primitive not in _PRODUCTS or step.outputs[0] not in flow.trained_through:
            continue
        if not all(map(flow.gets, step.inputs)):
            continue
        for predicted, wanted in (step.inputs, step.inputs[::-1]):
            logs = _logarithms(flow, predicted)
            moved = _moved_by_data(flow, wanted) if logs else None
            heads = [it for step in logs for it in step.inputs]
            if moved is not None and is_model_elsewhere(flow, shapes, heads, predicted, wanted):
                yield Bootstrap(Error(step.outputs[0], step), predicted, moved)
                break


def _logarithms(flow: Flow, value: Value) -> list[Step]:
    """The steps that take the logarithms in a value that is a sum of them and of what is linear."""
    made = (it.value.producer for it in terms(flow, value) if flow.gets(it.value))
    return [it for it in made if it is not None and it.primitive == "log"]


def _moved_by_data(flow: Flow, wanted: Value) -> Value | None:
    """The prediction in what is wanted, if data has part in that: a reward, say."""
    pending, seen = [wanted], {wanted}
    while pending:
        step = plain(pending.pop()).producer
        if step is None or step.kind != "operation":
            continue
        if step.primitive in _PRODUCTS:
            for one, other in (step.inputs, step.inputs[::-1]):
                is_prediction = flow.gets(one) and one in flow.data
                if is_prediction and not flow.uses(other) and other in flow.data:
                    return one
        elif step.primitive in _SUMS:
            pending += [it for it in step.inputs if it not in seen]
            seen.update(step.inputs)
    return None
