"""Softmaxes and their logarithms, whoever wrote them."""

from __future__ import annotations

from collections.abc import Iterator

from ..program import Step, Value
from .copies import made_by, number_of, root, uncast
from .kinds import Known, Meaning

_DEEP = 12


def softmax(step: Step) -> Meaning | None:
    """`exp(x) / sum(exp(x))`."""
    top, bottom = step.inputs
    total, exponential = made_by(bottom, "reduce_sum"), made_by(top, "exp")
    if total is None or exponential is None:
        return None
    if made_by(total.inputs[0], "exp") is not exponential:
        return None
    of = _unshifted(exponential.inputs[0])
    return Meaning("probabilities", step, of, tuple(total.params["axes"]))


def log_softmax(step: Step, known: Known) -> Meaning | None:
    """`x - logsumexp(x)`, with or without the maximum taken out first."""
    left, right = step.inputs
    logarithm = made_by(right, "log")
    if logarithm is not None:
        total = made_by(logarithm.inputs[0], "reduce_sum")
        exponential = made_by(total.inputs[0], "exp") if total is not None else None
        if total is not None and exponential is not None and exponential.inputs[0] is left:
            of = _unshifted(left)
            return Meaning("log-probabilities", step, of, tuple(total.params["axes"]))
    total = known.get(uncast(right))
    if total is not None and total.kind == "logsumexp" and root(left) is root(total.of):
        return Meaning("log-probabilities", step, left, total.axes)
    return None


def logsumexp(step: Step, known: Known) -> Meaning | None:
    """`log(sum(exp(x - max))) + max`."""
    for one, other in (step.inputs, step.inputs[::-1]):
        logarithm = made_by(one, "log")
        if logarithm is None or _maximum(other) is None:
            continue
        inner = made_by(logarithm.inputs[0], "abs")  # JAX's own takes signs apart.
        total = made_by(inner.inputs[0] if inner else logarithm.inputs[0], "reduce_sum")
        exponential = made_by(total.inputs[0], "exp") if total is not None else None
        if total is not None and exponential is not None:
            of = _unshifted(exponential.inputs[0])
            return Meaning("logsumexp", step, of, tuple(total.params["axes"]))
    return None


def _maximum(value: Value) -> Step | None:
    """The maximum over axes that a value is, perhaps made finite."""
    value = uncast(value)
    step = value.producer
    for _ in range(6):
        if step is None or step.primitive in ("reduce_max",):
            return step
        if step.primitive not in ("max", "select_n", "stop_gradient", "broadcast_in_dim"):
            return None
        step = next((it.producer for it in reversed(step.inputs) if it.producer is not None), None)
    return None


def _unshifted(value: Value) -> Value:
    """`x` where a value is `x - max(x)`, else the value."""
    step = made_by(value, "sub")
    if step is not None and _maximum(step.inputs[1]) is not None:
        return step.inputs[0]
    return value


def exponential_of_log_softmax(step: Step, known: Known) -> Meaning | None:
    """`exp(log_softmax(x))`."""
    before = known.get(root(step.inputs[0]))
    if before is None or before.kind != "log-probabilities":
        return None
    return Meaning("probabilities", step, before.of, before.axes)


def renormalised(step: Step, known: Known) -> Meaning | None:
    """Probabilities, of which some were taken out or weighed, over their own sum."""
    top, bottom = step.inputs
    total = _total(bottom)
    if total is None or root(total.inputs[0]) is not root(top):
        return None
    for it in _weighed(top):
        found = known.get(it)
        if found is not None and found.kind in ("probabilities", "renormalised"):
            return Meaning("renormalised", step, it)
    return None


def _total(value: Value) -> Step | None:
    """The sum that a value is, perhaps kept from zero."""
    for _ in range(_DEEP):
        step = uncast(value).producer
        if step is None or step.primitive == "reduce_sum":
            return step
        moving = [it for it in step.inputs if number_of(it) is None]
        if step.primitive not in ("add", "max") or len(moving) != 1:
            return None
        value = moving[0]
    return None


def _weighed(value: Value) -> Iterator[Value]:
    """What a value is chosen from, the product of, or a power of, with what it is itself."""
    pending = [value]
    for _ in range(_DEEP):
        if not pending:
            return
        value = root(pending.pop())
        yield value
        step = value.producer
        if step is None:
            continue
        if step.primitive == "select_n":
            chosen = [it for it in step.inputs[1:] if number_of(it) is None]
            pending += chosen if len(chosen) == 1 else []
        elif step.primitive == "mul":
            pending += step.inputs
        elif step.primitive in ("pow", "integer_pow", "square"):
            pending += step.inputs[:1]
