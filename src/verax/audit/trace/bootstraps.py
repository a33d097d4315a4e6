"""Errors whose target is a prediction of the parameters that are trained, with its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .gradients import Flow
from .loss_terms import Error, Term, errors, stopped, terms
from .meaning.copies import root
from .program import Value
from .sameness import Sameness


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """An error whose target is a prediction of the same parameters, with its gradient."""

    error: Error
    prediction: Value
    bootstrapped: Value


def bootstraps(flow: Flow) -> Iterator[Bootstrap]:
    """Errors `prediction - (data + factor * other prediction)` whose target is trained."""
    shapes = Sameness(blind=lambda value: not flow.gets(value))
    for error in errors(flow):
        parts = terms(flow, error.value)
        fixed = [it for it in parts if not flow.uses(it.value) and it.value in flow.data]
        signs = {it.sign for it in fixed}
        targets = [it for it in parts if it.scaled and flow.gets(it.value) and it.sign in signs]
        # A step along a gradient adapts the prediction's own parameters.
        targets = [it for it in targets if not _is_slope(it.value)]
        # A step of a solver starts from what its slope is made of.
        whole = [it for it in parts if not it.scaled and flow.gets(it.value)]
        targets = [it for it in targets if not any(_is_made_of(flow, it, w) for w in whole)]
        found = next(
            (
                Bootstrap(error, prediction, target.value)
                for target in targets
                for prediction in _predictions(flow, parts, -target.sign)
                if not flow.same.are(prediction, target.value)
                and _same_model(flow, shapes, prediction, target.value)
                and not _is_step(flow, prediction, [it for it in fixed if it.sign == target.sign])
            ),
            None,
        )
        if found is not None:
            yield found


def _is_slope(value: Value) -> bool:
    """Whether a value is the derivative of a function."""
    step = root(value).producer
    return step is not None and step.kind == "derivative"


def _is_step(flow: Flow, prediction: Value, beside: list[Term]) -> bool:
    """Whether a target starts where its prediction does: `x + dt * f(x)` goes on from there.

    A reward is not what its value is predicted from.
    """
    given = {root(it) for it in flow.slice([prediction])}
    return all(root(it.value) in given for it in beside)


def _is_made_of(flow: Flow, one: Term, other: Term) -> bool:
    """Whether a part of a sum is another one, or a function of it, as a step from there."""
    made_of = flow.slice([one.value]) if other.value in flow.data else (one.value,)
    return one.sign == other.sign and any(flow.same.are(it, other.value) for it in made_of)


def _predictions(flow: Flow, parts: list[Term], sign: int) -> Iterator[Value]:
    """Parts with a sign that no factor scales, with a gradient or with a stopped one."""
    for it in parts:
        if it.sign == sign and not it.scaled:
            if flow.gets(it.value):
                yield it.value
            source = stopped(it.value)
            # A sum with a multiple of a prediction is a target itself.
            if source is not None and flow.gets(source) and not _has_scaled(flow, source):
                yield source


def _has_scaled(flow: Flow, value: Value) -> bool:
    return any(it.scaled and flow.gets(it.value) for it in terms(flow, value))


def _same_model(flow: Flow, shapes: Sameness, one: Value, other: Value) -> bool:
    """Whether both come from the same parameters by the same operations, on any data."""
    return bool(_model(flow, shapes, one) & _model(flow, shapes, other))


def _model(flow: Flow, shapes: Sameness, value: Value) -> set[int]:
    return {
        shapes.number(it)
        for it in flow.slice([value])
        if flow.gets(it) and it in flow.data and it.producer is not None
    }
