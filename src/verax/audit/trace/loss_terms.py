"""A loss as a sum of terms, and what its terms say about each other.

From the flow of gradients alone: an error that is squared has, as its parts, what is predicted and
what it is compared with; a factor of a product passes a gradient on to the other's parameters. No
names are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .gradients import Flow, is_inexact, plain, steps_of
from .program import Loop, Mapping, Step, Value
from .sameness import Sameness

# Linear in their one operand, whatever the parameters of the operation.
_LINEAR = (
    "reduce_sum",
    "reshape",
    "squeeze",
    "expand_dims",
    "broadcast_in_dim",
    "transpose",
    "copy",
    "convert_element_type",
    "neg",
    "psum",
    "pmean",
)
_MOST_TERMS = 200


@dataclass(frozen=True, eq=False)
class Term:
    """A value that a sum has as a part: with which sign, and times a factor or not."""

    value: Value
    sign: int
    scaled: bool = False


def terms(
    flow: Flow, value: Value, *, scalars_only: bool = False, over_deviation: bool = False
) -> list[Term]:
    """The parts of a sum, down to what is not linear in the parameters any more.

    With `scalars_only`, sums over elements are not looked into, nor products of what depends on
    parameters. With `over_deviation`, a quotient
    is taken for its numerator, as when something is normalised.
    """
    found: list[Term] = []
    pending = [Term(value, 1)]
    seen: set[tuple[Value, int, bool]] = set()
    while pending and len(found) < _MOST_TERMS:
        term = pending.pop()
        key = (term.value, term.sign, term.scaled)
        if key in seen:
            continue
        seen.add(key)
        parts = _parts(flow, term, over_deviation)
        if scalars_only and (_is_whole(flow, term.value) or any(it.value.shape for it in parts)):
            parts = []
        if not parts:
            found.append(term)
        else:
            pending += reversed(parts)
    return found


def _parts(flow: Flow, term: Term, over_deviation: bool) -> list[Term]:
    value, sign, scaled = term.value, term.sign, term.scaled
    step = value.producer
    if step is None or _is_parameter_only(flow, value):
        return []
    if isinstance(step.detail, Mapping):
        inside = [inner for outer, inner, _ in step.detail.results if outer is value]
        outside = [outer for outer, inner, _ in step.detail.mapped if inner is value]
        return [Term(it, sign, scaled) for it in (*inside, *outside)]
    if isinstance(step.detail, Loop):
        return [Term(it.source, sign, scaled) for it in flow.back.get(value, ())]
    if step.kind != "operation" or value not in flow.back:
        return []
    name, inputs = step.primitive, step.inputs
    if name in ("add", "add_any", "sub"):
        other = -sign if name == "sub" else sign
        return [Term(inputs[0], sign, scaled), Term(inputs[1], other, scaled)]
    if name in _LINEAR and is_inexact(inputs[0]):
        return [Term(inputs[0], -sign if name == "neg" else sign, scaled)]
    if name in ("max", "min", "select_n", "clamp"):
        moving = [it for it in inputs if flow.gets(it)]
        return [Term(it, sign, scaled) for it in moving]
    if name == "mul":
        fixed = [it for it in inputs if not flow.gets(it)]
        moving = [it for it in inputs if flow.gets(it)]
        if len(fixed) == 1 and len(moving) == 1:
            return [Term(moving[0], sign * _sign_of(fixed[0]), scaled or not _is_unit(fixed[0]))]
    if name == "div" and (over_deviation or not flow.gets(inputs[1])):
        return [Term(inputs[0], sign * _sign_of(inputs[1]), True)]
    return []


def _is_whole(flow: Flow, value: Value) -> bool:
    """Whether parts of a value are no terms: factors on parameters, or what one turn carries."""
    step = value.producer
    if step is None or step.primitive not in ("mul", "div"):
        return step is not None and isinstance(step.detail, Loop)
    return all(map(flow.uses, step.inputs))


def _is_parameter_only(flow: Flow, value: Value) -> bool:
    return bool(flow.gets(value)) and value not in flow.data


def _sign_of(value: Value) -> int:
    constant = _number(value)
    return -1 if constant is not None and constant < 0 else 1


def _is_unit(value: Value) -> bool:
    return _number(value) in (1.0, -1.0)


def _number(value: Value) -> float | None:
    constant = plain(value).constant
    if constant is None or getattr(constant, "shape", ()) != ():
        return None
    try:
        return float(constant)
    except (TypeError, ValueError):
        return None


@dataclass(frozen=True, eq=False)
class Error:
    """A difference that a loss makes small: what goes into a square or an absolute value."""

    value: Value
    step: Step


def errors(flow: Flow) -> Iterator[Error]:
    """All differences that are squared, or taken the absolute value of, on the way to a result."""
    for step in steps_of(flow.body):
        if step.kind != "operation" or step.outputs[0] not in flow.trained_through:
            continue
        if _is_even(step) and not _is_squashed(flow, step.outputs[0]):
            yield Error(step.inputs[0], step)


def _is_squashed(flow: Flow, value: Value) -> bool:
    """Whether a value is only used to compute a bounded function of it: it is not made small."""
    users = [it for it in value.consumers if it.outputs[0] in flow.trained_through]
    return bool(users) and all(it.primitive in _SQUASHES for it in users)


_SQUASHES = frozenset(("erf", "erfc", "tanh", "logistic", "sin", "cos"))


def _is_even(step: Step) -> bool:
    if step.primitive in ("square", "abs"):
        return True
    if step.primitive == "integer_pow":
        return step.params["y"] % 2 == 0 and step.params["y"] > 0
    if step.primitive == "mul" or (step.primitive == "dot_general" and not step.outputs[0].shape):
        return plain(step.inputs[0]) is plain(step.inputs[1])
    return step.primitive == "pow" and _number(step.inputs[1]) == 2.0


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
        fixed = {it.sign for it in parts if not flow.uses(it.value) and it.value in flow.data}
        targets = [it for it in parts if it.scaled and flow.gets(it.value) and it.sign in fixed]
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
            ),
            None,
        )
        if found is not None:
            yield found


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
            source = _stopped(it.value)
            if source is not None and flow.gets(source):
                yield source


def _same_model(flow: Flow, shapes: Sameness, one: Value, other: Value) -> bool:
    """Whether both come from the same parameters by the same operations, on any data."""
    return bool(_model(flow, shapes, one) & _model(flow, shapes, other))


def _model(flow: Flow, shapes: Sameness, value: Value) -> set[int]:
    return {
        shapes.number(it)
        for it in flow.slice([value])
        if flow.gets(it) and it in flow.data and it.producer is not None
    }


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
    # A square that is no term itself, but part of a formula (of a density, say), fits nothing.
    fitted = [
        (error, [it.value for it in terms(flow, error.value) if flow.gets(it.value)])
        for error in errors(flow)
        if error.step.outputs[0] in in_terms
    ]
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
            stopped = not flow.gets(rest) and bool(flow.uses(rest) & lost)
            if (out in in_terms and flow.gets(rest)) or (stopped and _stopped(rest) is not None):
                error = _fitted_elsewhere(flow, out, factor, rest, fitted)
                if error is not None:
                    yield Weighting(step, factor, error, stopped)
                    break


def _fitted_elsewhere(
    flow: Flow, product: Value, factor: Value, rest: Value, fitted: list[tuple[Error, list[Value]]]
) -> Error | None:
    """The error that fits what a factor is made from, outside of the product."""
    if not flow.gets(factor) or factor not in flow.data:
        return None
    within, beside = flow.slice([product]), flow.slice([rest])
    made_from = {flow.same.number(it) for it in flow.slice([factor]) if flow.gets(it)}
    for error, predictions in fitted:
        squared = error.step.outputs[0]
        if squared in within or flow.same.number(squared) in made_from:
            continue
        if any(
            it in flow.data and it not in beside and flow.same.number(it) in made_from
            for it in predictions
        ):
            return error
    return None


@dataclass(frozen=True, eq=False)
class OneSided:
    """Two terms that compare the same two values and stop the gradient of the same one."""

    first: Step
    second: Step
    stopped: Value


def one_sided(flow: Flow) -> Iterator[OneSided]:
    """Pairs of terms that both train one side of a comparison, and neither the other."""
    found: dict[tuple[int, int], tuple[int, Step]] = {}
    pairs: list[tuple[tuple[int, int], OneSided]] = []
    for number, term in enumerate(_separate_terms(flow)):
        within = flow.slice([term])
        for step in steps_of(flow.body):
            if step.primitive != "sub" or step.outputs[0] not in within:
                continue
            for stopped, trained in (step.inputs, reversed(step.inputs)):
                source = _stopped(stopped)
                if source is None or not flow.uses(source) or not flow.gets(trained):
                    continue
                sides = flow.same.number(plain(source)), flow.same.number(plain(trained))
                earlier = found.setdefault(sides, (number, step))
                if earlier[0] != number and earlier[1] is not step:
                    pairs.append((sides, OneSided(earlier[1], step, source)))
    for (stopped, trained), pair in pairs:
        if (trained, stopped) not in found:
            yield pair


def _separate_terms(flow: Flow) -> list[Value]:
    return [
        term.value
        for result in flow.results
        for term in terms(flow, result)
        if flow.gets(term.value)
    ]


def _stopped(value: Value) -> Value | None:
    step = plain(value).producer
    return step.inputs[0] if step is not None and step.primitive == "stop_gradient" else None


def terms_without_gradient(flow: Flow) -> Iterator[tuple[Value, Step]]:
    """Scalar terms that depend on parameters and train none, and the error in each of them."""
    for result in flow.results:
        parts = terms(flow, result, scalars_only=True)
        for term in parts if len(parts) > 1 else []:
            if not flow.uses(term.value) or flow.gets(term.value):
                continue
            within = flow.slice([term.value], blocked=True)
            for step in steps_of(flow.body):
                is_part = step.kind == "operation" and step.outputs[0] in within
                if is_part and _is_even(step) and _is_stopped(flow, step.inputs[0]):
                    yield term.value, step
                    break


def _is_stopped(flow: Flow, error: Value) -> bool:
    """Whether an error is stopped, or both of the trained values that it is the difference of."""
    if _stopped(error) is not None:
        return True
    made = plain(error).producer
    if made is None or made.primitive != "sub" or flow.gets(error):
        return False
    found = [flow.blockers(flow.uses(it), [it]) for it in made.inputs]
    return all(any(link.blocker == "stop_gradient" for link in links) for links in found)
