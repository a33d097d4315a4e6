"""Errors whose target is a prediction of the parameters that are trained, with its gradient."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...graph import Node
from ..sameness import Sameness
from .flows import Flow
from .loss_terms import SAME, Error, Term, errors, stopped, terms, viewed

_ONE_OF = frozenset(("turn", "lane", "slice", "element"))


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """An error whose target is a prediction of the same parameters, with its gradient."""

    error: Error
    prediction: Node
    bootstrapped: Node
    prediction_stopped: bool


def bootstraps(flow: Flow) -> Iterator[Bootstrap]:
    """Errors `prediction - (data + factor * other prediction)` whose target is trained."""
    shapes = shapes_of(flow)
    all_errors = list(errors(flow))
    for error in all_errors:
        parts = terms(flow, error.parts)
        fixed = [it for it in parts if not flow.uses(it.node) and it.node in flow.data]
        signs = {it.sign for it in fixed}
        targets = [it for it in parts if it.scaled and flow.gets(it.node) and it.sign in signs]
        # A step along a gradient adapts the prediction's own parameters.
        targets = [it for it in targets if it.node.operation != "gradient"]
        # A step of a solver starts from what its slope is made of.
        whole = [it for it in parts if not it.scaled and flow.gets(it.node)]
        targets = [it for it in targets if not any(_is_made_of(flow, it, w) for w in whole)]
        for target in targets:
            found = _prediction(flow, shapes, parts, target)
            if found is None and any(_fits(flow, shapes, it, parts, target) for it in all_errors):
                found = _of_another_model(flow, parts, target)
            beside = [it for it in fixed if it.sign == target.sign]
            if found is not None and not _is_step(flow, found[0], beside):
                yield Bootstrap(error, found[0], target.node, found[1])
                break


def shapes_of(flow: Flow) -> Sameness:
    """What is the same computation on parameters, whatever the data."""
    return Sameness(lambda node: not flow.gets(node), lambda node: _named(flow, node))


def _named(flow: Flow, node: Node) -> str:
    """What to tell operations apart by; one of several sets of parameters is as good as another."""
    is_one_of = node.operation in _ONE_OF and node not in flow.data
    return node.operation if is_one_of else flow.context.name(node)


def _prediction(
    flow: Flow, shapes: Sameness, parts: list[Term], target: Term
) -> tuple[Node, bool] | None:
    """The part with the other sign that no factor scales, and whether its gradient is stopped."""
    for it in parts:
        if it.sign != -target.sign or it.scaled or it.excludes(target):
            continue
        node = it.node if flow.gets(it.node) else stopped(it.node)
        if node is None or not flow.gets(node) or _are_same(flow, it, node, target):
            continue
        if node is not it.node and _has_scaled(flow, node):
            continue  # What is stopped is a target itself.
        if _model(flow, shapes, node) & _model(flow, shapes, target.node):
            return node, node is not it.node
    return None


def _has_scaled(flow: Flow, node: Node) -> bool:
    """Whether a value is a sum with a multiple of a prediction, as a target is."""
    return any(it.scaled and flow.gets(it.node) for it in terms(flow, [Term(node, 1)]))


def _of_another_model(flow: Flow, parts: list[Term], target: Term) -> tuple[Node, bool] | None:
    """A prediction by other parameters than those of the target."""
    for it in parts:
        gets = 0 if it.scaled or it.excludes(target) else flow.gets(it.node)
        if it.sign == -target.sign and gets and not gets & flow.gets(target.node):
            return it.node, False
    return None


def _fits(flow: Flow, shapes: Sameness, error: Error, parts: list[Term], target: Term) -> bool:
    """Whether an error fits the model of a target to a stopped prediction of what that is for.

    Of two models that learn from one another, each is a constant to the other.
    """
    predicted = 0
    for it in parts:
        predicted |= flow.gets(it.node) if it.sign == -target.sign else 0
    others = [viewed(it.node) for it in terms(flow, error.parts)]
    inner = [it for it in map(stopped, others) if it is not None]
    if not any(flow.gets(it) & predicted for it in inner):
        return False
    model = _model(flow, shapes, target.node)
    return any(
        it is not target.node and _model(flow, shapes, it) & model for it in others if flow.gets(it)
    )


def _are_same(flow: Flow, term: Term, node: Node, target: Term) -> bool:
    """Whether a target is the prediction itself: the same value, and the same part of it."""
    if not flow.same.are(node, target.node):
        return False
    one, other = term.taken, target.taken
    return one is None or other is None or flow.same.are(one, other)


def _is_step(flow: Flow, prediction: Node, beside: list[Term]) -> bool:
    """Whether a target starts where its prediction does: `x + dt * f(x)` goes on from there.

    A reward is not what its value is predicted from.
    """
    given = flow.slice([prediction], blocked=True)
    return all(viewed(it.node, through_items=False) in given for it in beside)


def _is_made_of(flow: Flow, one: Term, other: Term) -> bool:
    """Whether a part of a sum is another one, or a function of it, as a step from there."""
    if one.sign != other.sign:
        return False
    made_of = flow.slice([one.node]) - {one.node} if other.node in flow.data else ()
    return _are_same(flow, one, one.node, other) or any(
        flow.same.are(it, other.node) for it in made_of
    )


def _model(flow: Flow, shapes: Sameness, node: Node) -> set[int]:
    """By which operations on data and parameters a value comes about."""
    return {
        shapes.number(it)
        for it in flow.slice([node])
        if flow.gets(it) and it in flow.data and it.inputs and it.operation not in SAME
    }
