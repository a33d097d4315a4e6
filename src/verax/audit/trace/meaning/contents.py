"""What the elements of a value are: classes, rows of a table, bounded numbers, random draws."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np

from ..program import Step, Value
from .copies import made_by, number_of, root, uncast
from .kinds import Known, Meaning


def cast(step: Step, known: Known) -> Meaning | None:
    """One-hot vectors, which are a comparison with a range; else a change of dtype."""
    before, after = step.inputs[0], step.outputs[0]
    compared = _compared_with_range(before.producer)
    if compared:
        other = next((it for it in compared if made_by(it, "iota") is None), before)
        return Meaning("one-hot", step, root(other))
    weak = getattr(before.aval, "weak_type", False)
    if before.dtype == after.dtype or before.dtype == np.bool_ or weak or before.is_constant:
        return None
    return Meaning("cast", step, before)


def is_one_hot(value: Value) -> bool:
    """Whether a value is one in one place and zero elsewhere: what it multiplies, it chooses from.

    Before its meaning is known, by what it is made from.
    """
    return bool(_compared_with_range(root(value).producer))


def _compared_with_range(step: Step | None) -> list[Value]:
    """What a step compares, if one of them is a range."""
    compared = step.inputs if step is not None and step.primitive == "eq" else []
    has_range = any(made_by(it, "iota") is not None or _is_range(root(it)) for it in compared)
    return list(compared) if has_range else []


def _is_range(value: Value) -> bool:
    constant = value.constant
    if constant is None or np.ndim(constant) == 0 or np.size(constant) < 2:
        return False
    flat = np.ravel(constant)
    return bool(np.array_equal(flat, np.arange(flat.size)))


def row(step: Step, known: Known) -> Meaning | None:
    """Rows of a table that is an input: an embedding."""
    table, indices = step.inputs[:2]
    numbers = step.params["dimension_numbers"]
    whole = [axis for axis in range(len(table.shape)) if axis not in numbers.start_index_map]
    sizes = step.params["slice_sizes"]
    rows = len(table.shape) == 2 and whole == [1] and sizes[1] == table.shape[1]
    source = root(table)
    is_float = jnp.issubdtype(table.dtype, jnp.floating) if _plain(table) else False
    if rows and is_float and source.producer is None and len(indices.shape) > 1:
        return Meaning("embedded", step, indices, (0,), by=(source,))
    return None


def _plain(value: Value) -> bool:
    return isinstance(value.dtype, np.dtype)


def clamped(step: Step, known: Known) -> Meaning | None:
    """`jax.lax.clamp`."""
    low, of, high = step.inputs
    return Meaning("clipped", step, of, bounds=(number_of(low), number_of(high)))


def bounded(step: Step, known: Known) -> Meaning | None:
    """`minimum(maximum(x, low), high)`, in either order."""
    other_bound = "max" if step.primitive == "min" else "min"
    for one, other in (step.inputs, step.inputs[::-1]):
        outer = number_of(other)
        before = one.producer
        if outer is None or before is None or before.primitive != other_bound:
            continue
        for of, bound in (before.inputs, before.inputs[::-1]):
            inner = number_of(bound)
            if inner is not None:
                bounds = (inner, outer) if step.primitive == "min" else (outer, inner)
                return Meaning("clipped", step, of, bounds=bounds)
    return None


def squashed(low: float, high: float) -> Callable[[Step, Known], Meaning]:
    """Functions whose values lie between two bounds."""

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


def sampled(step: Step, found: Known) -> None:
    """What the functions of `jax.random` return."""
    body = step.bodies[0]
    name = body.function.lstrip("_")
    if body.place is None and name in _DRAWS and step.inputs and body.steps:
        for value in step.outputs:
            if value.producer is not None:
                found.setdefault(value, Meaning("sampled", step, step.inputs[0]))


def drawn(step: Step, known: Known) -> Meaning | None:
    """`argmax(logits + noise)`: how categorical variables are drawn."""
    total = made_by(step.inputs[0], "add")
    for value, other in _both_ways(total):
        noise = known.get(uncast(value))
        if noise is not None and noise.kind == "sampled":
            return Meaning("sampled", step, other)
    return None


def _both_ways(step: Step | None) -> list[tuple[Value, Value]]:
    if step is None:
        return []
    one, other = step.inputs
    return [(one, other), (other, one)]
