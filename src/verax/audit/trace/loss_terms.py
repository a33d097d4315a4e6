"""A loss as a sum of terms, and the errors that it makes small.

From the flow of gradients alone: an error that is squared has, as its parts, what is predicted and
what it is compared with. No names are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .gradients import Flow, is_inexact, plain, steps_of
from .meaning.contents import is_one_hot
from .program import Loop, Mapping, Step, Value

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
    return _number(value) in (1.0, -1.0) or is_one_hot(value)


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
        if is_even(step) and not _is_squashed(flow, step.outputs[0]):
            yield Error(step.inputs[0], step)


def _is_squashed(flow: Flow, value: Value) -> bool:
    """Whether a value is only used to compute a bounded function of it: it is not made small."""
    users = [it for it in value.consumers if it.outputs[0] in flow.trained_through]
    return bool(users) and all(it.primitive in _SQUASHES for it in users)


_SQUASHES = frozenset(("erf", "erfc", "tanh", "logistic", "sin", "cos"))


def is_even(step: Step) -> bool:
    """Whether a step squares something, or takes its absolute value."""
    if step.primitive in ("square", "abs"):
        return True
    if step.primitive == "integer_pow":
        return step.params["y"] % 2 == 0 and step.params["y"] > 0
    if step.primitive == "mul" or (step.primitive == "dot_general" and not step.outputs[0].shape):
        return plain(step.inputs[0]) is plain(step.inputs[1])
    return step.primitive == "pow" and _number(step.inputs[1]) == 2.0


def stopped(value: Value) -> Value | None:
    """What a value is, but for its gradient that was stopped."""
    step = plain(value).producer
    return step.inputs[0] if step is not None and step.primitive == "stop_gradient" else None
