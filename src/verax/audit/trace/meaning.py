"""What a value means, where the steps that made it say so: probabilities, one-hot and others.

Recognised by structure: `exp(x) / sum(exp(x))` is a softmax whoever wrote it. The name of an
enclosing call helps only where structure is ambiguous (a random draw). A value without an entry
means nothing in particular, as far as is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .describe import axis_phrase, name_of, tensor_of
from .facts import Facts
from .program import Program, Step, Value


@dataclass(frozen=True, eq=False)
class Meaning:
    """What a value means.

    `kind` is one of "probabilities", "log-probabilities", "logsumexp", "one-hot", "normalised",
    "standardised", "scaled", "embedded", "sampled", "clipped", "squashed", "cast". `of` is what was
    given this meaning, `axes` are dimensions of `of`. `by` are the statistics that a
    normalisation uses (mean, then scale, `None` where there is none), or the table of an
    embedding. `bounds` are those of a clip, or the constant of a scaling.
    """

    kind: str
    step: Step
    of: Value
    axes: tuple[int, ...] = ()
    by: tuple[Value | None, ...] = ()
    bounds: tuple[Any, ...] = ()


class Meanings:
    """The meaning of every value that has one."""

    def __init__(self, facts: Facts):
        self._facts = facts
        self._known = _recognised(facts.program)

    def get(self, value: Value) -> Meaning | None:
        """What a value means by the step that made it."""
        return self._known.get(value)

    def behind(self, value: Value, *kinds: str) -> Meaning | None:
        """The meaning of one of these kinds that a value still has.

        Copies, casts, new shapes and clips keep a meaning.
        """
        while True:
            found = self._known.get(value)
            if found is not None and found.kind in kinds:
                return found
            if found is not None and found.kind in ("clipped", "cast"):
                value = found.of
                continue
            step = value.producer
            if step is not None and step.primitive in _PARTS:
                value = step.inputs[0]
                continue
            before = before_copy(value)
            if before is None:
                return None
            value = before

    def all(self, *kinds: str) -> Iterable[tuple[Value, Meaning]]:
        """Every value with a meaning of these kinds, in the order of the program."""
        return [(value, it) for value, it in self._known.items() if it.kind in kinds]

    def phrase(self, value: Value) -> str:
        """A value's meaning in words, empty where it has none."""
        found = self._known.get(value)
        if found is None:
            return ""
        text = _WORDS[found.kind](self._facts, found)
        if found.kind in ("clipped", "cast"):
            before = self.behind(found.of, *_LASTING)
            if before is not None:
                return f"{_WORDS[before.kind](self._facts, before)}, then {text}"
        return text


def meanings_of(facts: Facts) -> Meanings:
    """The meaning of the values of a program."""
    return Meanings(facts)


# --- copies: steps after which a value is still the same thing

_COPIES = {
    "broadcast_in_dim",
    "reshape",
    "squeeze",
    "expand_dims",
    "transpose",
    "stop_gradient",
    "copy",
    "copy_p",
    "reduce_precision",
    "optimization_barrier",
    "sharding_constraint",
    "pvary",
}

# A part of a value means what the value means, but is not the same value.
_PARTS = {"slice", "dynamic_slice", "rev"}


def before_copy(value: Value) -> Value | None:
    """The value that this one is a copy, a cast, a view or an element of."""
    step = value.producer
    if step is None:
        return None
    if step.primitive in _COPIES or step.primitive == "convert_element_type":
        return step.inputs[0]
    return _ELEMENT[step.kind](step, value) if step.kind in _ELEMENT else None


def root(value: Value) -> Value:
    """The first value of which this one is only a copy."""
    while (before := before_copy(value)) is not None:
        value = before
    return value


def _mapped(step: Step, value: Value) -> Value | None:
    for outer, inner, _ in step.detail.mapped:
        if inner is value:
            return outer
    return next((inner for out, inner, _ in step.detail.results if out is value), None)


def _scanned(step: Step, value: Value) -> Value | None:
    loop = step.detail
    for outer, inner in zip(loop.scanned, loop.slices, strict=True):
        if inner is value:
            return outer
    return next(
        (inner for inner, out in zip(loop.stacks, loop.stacked, strict=True) if out is value), None
    )


def _differentiated(step: Step, value: Value) -> Value | None:
    return next((outer for outer, inner in step.detail.differentiated if inner is value), None)


_ELEMENT: dict[str, Callable[[Step, Value], Value | None]] = {
    "map": _mapped,
    "scan": _scanned,
    "derive": _differentiated,
}


# --- recognition


def _recognised(program: Program) -> dict[Value, Meaning]:
    found: dict[Value, Meaning] = {}
    for step in program.walk():
        if step.kind == "call":
            _sampled(step, found)  # Before the steps of its body: what they mean alone is less.
            continue
        recognise = _RECOGNISE.get(step.primitive)
        if recognise is not None and step.outputs[0] not in found:
            meaning = recognise(step, found)
            if meaning is not None:
                found[step.outputs[0]] = meaning
    return found


Known = dict[Value, Meaning]


def _made_by(value: Value, *primitives: str) -> Step | None:
    """The step that makes a value or what it is a copy of, if it is one of these primitives."""
    step = _uncast(value).producer
    return step if step is not None and step.primitive in primitives else None


def _uncast(value: Value) -> Value:
    """A value before it was broadcast, cast or reshaped to meet another."""
    while (step := value.producer) is not None and step.primitive in (
        "broadcast_in_dim",
        "convert_element_type",
        "stop_gradient",
        "reshape",
        "squeeze",
    ):
        value = step.inputs[0]
    return value


def _division(step: Step, known: Known) -> Meaning | None:
    top, bottom = step.inputs
    total = _made_by(bottom, "reduce_sum")
    exponential = _made_by(top, "exp")
    if total is not None and exponential is not None:
        summed = _made_by(total.inputs[0], "exp")
        if summed is exponential:
            of = _unshifted(exponential.inputs[0])
            return Meaning("probabilities", step, of, tuple(total.params["axes"]))
    constant = _scalar(bottom)
    if constant is not None:
        return _scaled(step, top, 1.0 / constant) if constant else None
    return _normalised(step, top, bottom)


def _product(step: Step, known: Known) -> Meaning | None:
    for one, other in (step.inputs, step.inputs[::-1]):
        constant = _scalar(other)
        if constant is not None:
            return _scaled(step, one, constant)
        if _made_by(other, "rsqrt") is not None:
            meaning = _normalised(step, one, other)
            if meaning is not None:
                return meaning
        inverse = _made_by(other, "div", "integer_pow")
        if inverse is not None and _is_inverse(inverse):
            meaning = _normalised(step, one, inverse.inputs[-1])
            if meaning is not None:
                return meaning
    return None


def _is_inverse(step: Step) -> bool:
    if step.primitive == "integer_pow":
        return step.params["y"] == -1
    return _scalar(step.inputs[0]) == 1.0


def _scaled(step: Step, of: Value, factor: float) -> Meaning | None:
    # Pixels are what constants scale by meaning; any other factor is arithmetic.
    for size in (255.0, 256.0, 127.5):
        if abs(factor * size - 1.0) < 1e-5:
            return Meaning("scaled", step, of, bounds=(size,))
    return None


def _normalised(step: Step, top: Value, bottom: Value) -> Meaning | None:
    """`(x - mean) / std`, whatever the two come from."""
    difference = _made_by(top, "sub")
    if difference is None:
        return None
    of, mean = difference.inputs
    own = _reduced(mean, of)
    if own is not None:
        return Meaning("standardised", step, of, own)
    middle, scale = root(_uncast(mean)), statistic(bottom)
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
        constants = [_scalar(it) is not None for it in step.inputs]
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


def _reduced(mean: Value, of: Value) -> tuple[int, ...] | None:
    """The axes over which `mean` is the mean of `of`, if it is."""
    step = _made_by(mean, "div", "mul")
    total = _made_by(step.inputs[0] if step else mean, "reduce_sum")
    if total is None or root(total.inputs[0]) is not root(of):
        return None
    return tuple(total.params["axes"])


def _depends_closely(scale: Value, of: Value) -> bool:
    step = scale.producer
    return step is not None and any(root(value) is root(of) for value in step.inputs)


def _difference(step: Step, known: Known) -> Meaning | None:
    """`x - logsumexp(x)`, with or without the maximum taken out first."""
    left, right = step.inputs
    logarithm = _made_by(right, "log")
    if logarithm is not None:
        total = _made_by(logarithm.inputs[0], "reduce_sum")
        exponential = _made_by(total.inputs[0], "exp") if total is not None else None
        if total is not None and exponential is not None and exponential.inputs[0] is left:
            of = _unshifted(left)
            return Meaning("log-probabilities", step, of, tuple(total.params["axes"]))
    total = known.get(_uncast(right))
    if total is not None and total.kind == "logsumexp" and root(left) is root(total.of):
        return Meaning("log-probabilities", step, left, total.axes)
    return None


def _addition(step: Step, known: Known) -> Meaning | None:
    """`log(sum(exp(x - max))) + max`."""
    for one, other in (step.inputs, step.inputs[::-1]):
        logarithm = _made_by(one, "log")
        if logarithm is None or _maximum(other) is None:
            continue
        inner = _made_by(logarithm.inputs[0], "abs")  # JAX's own takes signs apart.
        total = _made_by(inner.inputs[0] if inner else logarithm.inputs[0], "reduce_sum")
        exponential = _made_by(total.inputs[0], "exp") if total is not None else None
        if total is not None and exponential is not None:
            of = _unshifted(exponential.inputs[0])
            return Meaning("logsumexp", step, of, tuple(total.params["axes"]))
    return None


def _maximum(value: Value) -> Step | None:
    """The maximum over axes that a value is, perhaps made finite."""
    value = _uncast(value)
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
    step = _made_by(value, "sub")
    if step is not None and _maximum(step.inputs[1]) is not None:
        return step.inputs[0]
    return value


def _cast(step: Step, known: Known) -> Meaning | None:
    before, after = step.inputs[0], step.outputs[0]
    equal = before.producer
    compared = equal.inputs if equal is not None and equal.primitive == "eq" else []
    if any(_made_by(it, "iota") is not None or _is_range(root(it)) for it in compared):
        other = next((it for it in compared if _made_by(it, "iota") is None), before)
        return Meaning("one-hot", step, root(other))
    weak = getattr(before.aval, "weak_type", False)
    if before.dtype == after.dtype or before.dtype == np.bool_ or weak or before.is_constant:
        return None
    return Meaning("cast", step, before)


def _is_range(value: Value) -> bool:
    constant = value.constant
    if constant is None or np.ndim(constant) == 0 or np.size(constant) < 2:
        return False
    flat = np.ravel(constant)
    return bool(np.array_equal(flat, np.arange(flat.size)))


def _picked(step: Step, known: Known) -> Meaning | None:
    table, indices = step.inputs[:2]
    numbers = step.params["dimension_numbers"]
    whole = [axis for axis in range(len(table.shape)) if axis not in numbers.start_index_map]
    sizes = step.params["slice_sizes"]
    rows = len(table.shape) == 2 and whole == [1] and sizes[1] == table.shape[1]
    source = root(table)
    is_float = np.issubdtype(np.dtype(table.dtype), np.floating) if _plain(table) else False
    if rows and is_float and source.producer is None and len(indices.shape) > 1:
        return Meaning("embedded", step, indices, (0,), by=(source,))
    return None


def _plain(value: Value) -> bool:
    return isinstance(value.dtype, np.dtype)


def _clamped(step: Step, known: Known) -> Meaning | None:
    low, of, high = step.inputs
    return Meaning("clipped", step, of, bounds=(_scalar(low), _scalar(high)))


def _bounded(step: Step, known: Known) -> Meaning | None:
    """`minimum(maximum(x, low), high)`, in either order."""
    other_bound = "max" if step.primitive == "min" else "min"
    for one, other in (step.inputs, step.inputs[::-1]):
        outer = _scalar(other)
        before = one.producer
        if outer is None or before is None or before.primitive != other_bound:
            continue
        for of, bound in (before.inputs, before.inputs[::-1]):
            inner = _scalar(bound)
            if inner is not None:
                bounds = (inner, outer) if step.primitive == "min" else (outer, inner)
                return Meaning("clipped", step, of, bounds=bounds)
    return None


def _squashed(low: float, high: float) -> Callable[[Step, Known], Meaning]:
    def recognise(step: Step, known: Known) -> Meaning:
        return Meaning("squashed", step, step.inputs[0], bounds=(low, high))

    return recognise


# The functions of `jax.random`, as their jitted cores are called.
_DRAWS = {
    *("uniform", "normal", "bernoulli", "categorical", "gumbel", "randint", "exponential", "gamma"),
    *(
        "beta",
        "cauchy",
        "dirichlet",
        "laplace",
        "logistic",
        "poisson",
        "truncated_normal",
        "choice",
    ),
    *("permutation", "multivariate_normal", "rademacher", "bits", "binomial", "geometric", "t"),
}


def _sampled(step: Step, found: Known) -> None:
    body = step.bodies[0]
    name = body.function.lstrip("_")
    if body.place is None and name in _DRAWS and step.inputs and body.steps:
        for value in step.outputs:
            if value.producer is not None:
                found.setdefault(value, Meaning("sampled", step, step.inputs[0]))


def _drawn(step: Step, known: Known) -> Meaning | None:
    """`argmax(logits + noise)`: how categorical variables are drawn."""
    total = _made_by(step.inputs[0], "add")
    for value, other in _both_ways(total):
        noise = known.get(_uncast(value))
        if noise is not None and noise.kind == "sampled":
            return Meaning("sampled", step, other)
    return None


def _both_ways(step: Step | None) -> list[tuple[Value, Value]]:
    if step is None:
        return []
    one, other = step.inputs
    return [(one, other), (other, one)]


def _exponential(step: Step, known: Known) -> Meaning | None:
    """`exp(log_softmax(x))`."""
    before = known.get(root(step.inputs[0]))
    if before is None or before.kind != "log-probabilities":
        return None
    return Meaning("probabilities", step, before.of, before.axes)


def _scalar(value: Value) -> float | None:
    """The number that a value is everywhere, if it is known."""
    value = _uncast(value)
    if not value.is_constant or np.size(value.constant) != 1:
        return None
    try:
        return float(np.ravel(value.constant)[0])
    except (TypeError, ValueError):
        return None


_RECOGNISE: dict[str, Callable[[Step, Known], Meaning | None]] = {
    "div": _division,
    "mul": _product,
    "sub": _difference,
    "add": _addition,
    "convert_element_type": _cast,
    "gather": _picked,
    "clamp": _clamped,
    "min": _bounded,
    "max": _bounded,
    "tanh": _squashed(-1, 1),
    "logistic": _squashed(0, 1),
    "erf": _squashed(-1, 1),
    "argmax": _drawn,
    "exp": _exponential,
}


# --- words

_LASTING = ("probabilities", "log-probabilities", "one-hot", "normalised", "standardised", "scaled")


def _over_axes(prefix: str) -> Callable[[Facts, Meaning], str]:
    def words(facts: Facts, it: Meaning) -> str:
        return f"{prefix} over {axis_phrase(facts, it.of, it.axes)}"

    return words


def _normalised_words(facts: Facts, it: Meaning) -> str:
    mean, scale = it.by
    assert mean is not None
    assert scale is not None
    return f"normalised by {name_of(facts, mean)} and {name_of(facts, scale)}"


def _clipped_words(facts: Facts, it: Meaning) -> str:
    low, high = it.bounds
    if low is None or high is None:
        return "clipped"
    return f"clipped to {low:g}..{high:g}"


def _embedded_words(facts: Facts, it: Meaning) -> str:
    table = it.by[0]
    assert table is not None
    return f"embedded: rows of {name_of(facts, table)}"


def _cast_words(facts: Facts, it: Meaning) -> str:
    before, after = tensor_of(facts, it.of), tensor_of(facts, it.step.outputs[0])
    return f"cast from {before.dtype} to {after.dtype}"


_WORDS: dict[str, Callable[[Facts, Meaning], str]] = {
    "probabilities": _over_axes("softmaxed: probabilities"),
    "log-probabilities": _over_axes("log-probabilities"),
    "logsumexp": _over_axes("logsumexp"),
    "standardised": _over_axes("standardised by its own statistics"),
    "one-hot": lambda facts, it: "one-hot",
    "normalised": _normalised_words,
    "scaled": lambda facts, it: f"scaled by 1/{it.bounds[0]:g}",
    "embedded": _embedded_words,
    "sampled": lambda facts, it: "sampled at random",
    "clipped": _clipped_words,
    "squashed": lambda facts, it: f"squashed into {it.bounds[0]:g}..{it.bounds[1]:g}",
    "cast": _cast_words,
}
