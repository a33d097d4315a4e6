"""Products in a loss one factor of which another term trains, such as an advantage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..predictions import fitted_elsewhere
from .gradients import Flow, steps_of
from .loss_terms import Error, errors, stopped, terms
from .program import Step, Value


@dataclass(frozen=True, eq=False)
class Weighting:
    """A product whose one factor is trained by another term of the loss.

    With `other_stopped`, the other factor is stopped, and its parameters get no gradient at all.
    """

    product: Step
    factor: Value
    error: Error
    other_stopped: bool = False


def weightings(flow: Flow) -> Iterator[Weighting]:
    """Products in a loss that pull at a prediction which another term fits to data."""
    in_terms = {
        term.value for result in flow.results for term in terms(flow, result) if term.value.producer
    }
    fitted: list[tuple[Error, Value, list[Value]]] = []
    for error in errors(flow):
        parts = [it.value for it in terms(flow, error.value)]
        # A square that is no term itself, but part of a formula (of a density, say), fits nothing;
        # nor does that of what is trained alone. What is stopped stands for data.
        if error.step.outputs[0] in in_terms and not all(map(flow.gets, parts)):
            fitted.append((error, error.step.outputs[0], [it for it in parts if flow.gets(it)]))
    lost = 0
    for parameter in flow.without_gradient():
        lost |= parameter.bit
    for step in steps_of(flow.body):
        if step.primitive not in ("mul", "dot_general") or step.inputs[0] is step.inputs[1]:
            continue
        out = step.outputs[0]
        if out not in flow.trained_through:
            continue
        for factor, rest in (step.inputs, reversed(step.inputs)):
            is_lost = not flow.gets(rest) and bool(flow.uses(rest) & lost)
            if (out in in_terms and flow.gets(rest)) or (is_lost and stopped(rest) is not None):
                error = fitted_elsewhere(flow, out, factor, rest, fitted)
                if error is not None:
                    yield Weighting(step, factor, error, is_lost)
                    break
