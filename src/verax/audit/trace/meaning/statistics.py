"""Values that are centred and scaled: by their own statistics, or by others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..program import Step, Value
from .copies import made_by, number_of, root, uncast
from .kinds import Known, Meaning
from .probabilities import renormalised, softmax


def quotient(step: Step, known: Known) -> Meaning | None:
    """A softmax, shares of a sum, a constant scale, or a division by a deviation."""
    top, bottom = step.inputs
    probabilities = softmax(step) or renormalised(step, known)
    if probabilities is not None:
        return probabilities
    constant = number_of(bottom)
    if constant is not None:
        return _scaled(step, top, 1.0 / constant) if constant else None
    return _normalised(step, top, bottom)


def product(step: Step, known: Known) -> Meaning | None:
    """A constant scale, or a product with the inverse of a deviation."""
    for one, other in (step.inputs, step.inputs[::-1]):
        constant = number_of(other)
        if constant is not None:
            return _scaled(step, one, constant)
        if made_by(other, "rsqrt") is not None:
            meaning = _normalised(step, one, other)
            if meaning is not None:
                return meaning
        inverse = made_by(other, "div", "integer_pow")
        if inverse is not None and _is_inverse(inverse):
            meaning = _normalised(step, one, inverse.inputs[-1])
            if meaning is not None:
                return meaning
    return None


def _is_inverse(step: Step) -> bool:
    if step.primitive == "integer_pow":
        return step.params["y"] == -1
    return number_of(step.inputs[0]) == 1.0


def _scaled(step: Step, of: Value, factor: float) -> Meaning | None:
    # Pixels are what constants scale by meaning; any other factor is arithmetic.
    for size in (255.0, 256.0, 127.5):
        if abs(factor * size - 1.0) < 1e-5:
            return Meaning("scaled", step, of, bounds=(size,))
    return None


def _normalised(step: Step, top: Value, bottom: Value) -> Meaning | None:
    """`(x - mean) / std`, whatever the two come from."""
    difference = made_by(top, "sub")
    if difference is None:
        return None
    of, mean = difference.inputs
    own = _reduced(mean, of)
    if own is not None:
        return Meaning("standardised", step, of, own, by=(mean, bottom))
    middle, scale = root(uncast(mean)), statistic(bottom)
    if scale is None or _depends_closely(scale, of):
        return None
    # Numbers that are the same for every element are arithmetic, as in an iteration.
    if any(it.is_constant and np.size(it.constant) < 2 for it in (middle, scale)):
        return None
    return Meaning("normalised", step, of, by=(middle, scale))


_ONE_TO_ONE = {"sqrt", "rsqrt", "abs", "exp", "integer_pow", "square"}
_WITH_CONSTANT = {"add", "max", "div", "sub"}


def statistic(value: Value) -> Value | None:
    """What a scale is computed from: through a root, a square, and a small number to be safe."""
    for _ in range(12):
        value = root(value)
        step = value.producer
        if step is None:
            return value
        constants = [number_of(it) is not None for it in step.inputs]
        if step.primitive in _ONE_TO_ONE or (step.primitive in _WITH_CONSTANT and constants[-1]):
            value = step.inputs[0]
        elif step.primitive in ("add", "max") and constants[0]:
            value = step.inputs[1]
        else:
            return value
    return value


def same_statistics(one: Meaning, other: Meaning) -> bool:
    """Whether two normalisations use the same numbers."""
    pairs = zip(one.by, other.by, strict=True)
    return one.bounds == other.bounds and all(
        a is b
        or (a is not None and b is not None and a.is_constant and _equal(a.constant, b.constant))
        for a, b in pairs
    )


def _equal(one: Any, other: Any) -> bool:
    return other is not None and bool(np.array_equal(np.asarray(one), np.asarray(other)))


def centred_over(step: Step) -> tuple[int, ...] | None:
    """The axes of the mean that a difference subtracts from what it is the mean of."""
    of, mean = step.inputs
    return _reduced(mean, of)


def _reduced(mean: Value, of: Value) -> tuple[int, ...] | None:
    """The axes over which `mean` is the mean of `of`, if it is."""
    step = made_by(mean, "div", "mul")
    total = made_by(step.inputs[0] if step else mean, "reduce_sum")
    if total is None or root(total.inputs[0]) is not root(of):
        return None
    return tuple(total.params["axes"])


def _depends_closely(scale: Value, of: Value) -> bool:
    step = scale.producer
    return step is not None and any(root(value) is root(of) for value in step.inputs)


def deviation_axes(it: Meaning) -> tuple[int, ...] | None:
    """The axes over which the deviation is taken that a standardised value is divided by."""
    _, scale = it.by
    total = _sum_behind(scale)
    square = made_by(total.inputs[0], "square", "integer_pow", "mul") if total is not None else None
    if total is None or square is None:
        return None
    # The deviation may have a mean of its own, over other axes than the one that was subtracted.
    own = made_by(square.inputs[0], "sub")
    if own is None or not _is_up_to_its_mean(own.inputs[0], it.of):
        return None
    return tuple(total.params["axes"])


def _is_up_to_its_mean(value: Value, of: Value) -> bool:
    """Whether a value is another one, centred perhaps."""
    centred = made_by(value, "sub")
    return root(value) is root(of) or (centred is not None and root(centred.inputs[0]) is root(of))


def _sum_behind(scale: Value | None) -> Step | None:
    """The sum from which a deviation is made: through a root, a quotient, a guard."""
    for _ in range(16):
        step = root(scale).producer if scale is not None else None
        if step is None or step.primitive == "reduce_sum":
            return step
        if step.primitive in _ONE_TO_ONE or step.primitive == "div":
            scale = step.inputs[0]
        elif step.primitive in ("add", "max", "select_n"):
            # `jnp.var` chooses nan where nothing is left to divide by.
            arguments = step.inputs[1:] if step.primitive == "select_n" else step.inputs
            moving = [value for value in arguments if number_of(value) is None]
            scale = moving[0] if len(moving) == 1 else None
        else:
            return None
    return None
