"""A gradient of something that is not one real number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Applied
from ...source.queries.gradients.flatness import is_integer
from ...source.queries.gradients.losses import (
    differentiated_apart,
    has_auxiliary,
    is_several,
    made_at,
    returned_at,
)
from ...source.queries.loops.bodies import shown_shape
from ...source.shapes.names import is_declared
from ...source.shapes.shape import Partial, least_rank
from ...source.values import Data, Sequence
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.shapes import Shape
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "vector loss", "tuple loss", "integer loss" and "auxiliary"."""
    failure = facts.failure
    if failure is None or failure.kind not in _EXPLAIN:
        return
    text = failure.statement.text if failure.statement else "the derivative"
    got, expected, fix = _EXPLAIN[failure.kind]
    yield RULE.finding(
        failure.place,
        current=f"`{text}` differentiates {got.format(**failure.details)}",
        expected=expected,
        fix=fix,
        evidence=failure.calls(),
    )


_ONE = "`jax.grad` differentiates a function that returns one real number"
_EXPLAIN: dict[str, tuple[str, str, str]] = {
    "vector loss": (
        "a function whose result has the shape {shape}",
        _ONE,
        "Reduce the loss by `jnp.mean` or `jnp.sum`; for a derivative of every element use "
        "`jax.jacrev`, for one of every example `jax.vmap(jax.grad(...))`.",
    ),
    "tuple loss": (
        "a function that returns several values",
        _ONE + ", or a pair with `has_aux=True`",
        "Say `has_aux=True` if the first value is the loss, or return the loss only.",
    ),
    "integer loss": (
        "a function whose result is {dtype}",
        _ONE,
        "Compute the loss in floating point; counts and argmax have no gradient.",
    ),
    "auxiliary": (
        "a function with `has_aux=True` that does not return a pair",
        "with `has_aux=True` the function returns (loss, anything)",
        "Return the loss and one tuple or dict with all other values; or leave `has_aux` out.",
    ),
    "auxiliary first": (
        "a function with `has_aux=True` that returns the loss after what comes with it",
        "with `has_aux=True` the function returns (loss, anything)",
        "Return the loss first, and after it what comes with it.",
    ),
}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Losses that are visibly several values, or arrays with axes, or integers."""
    events = [
        it for it in facts.events(Applied) if it.transformed.kind in ("grad", "value_and_grad")
    ]
    apart = differentiated_apart(events)
    for event in events:
        problem = _problem(event)
        if problem is not None:
            kind, details = problem
            got, expected, fix = _EXPLAIN[kind]
            made = made_at(event)
            is_own = kind == "auxiliary first" or (kind == "vector loss" and event in apart)
            place = (returned_at(facts, event) if is_own else None) or event.place
            derived = (
                () if place == event.place else (Evidence("differentiated here", event.place),)
            )
            yield RULE.finding(
                place,
                current=f"`{event.transformed.kind}` differentiates {got.format(**details)}",
                expected=expected,
                fix=fix,
                evidence=(
                    *(() if made is None else (Evidence("the result is made here", made),)),
                    *(derived if place != event.place else ()),
                ),
                engine=Engine.SOURCE,
            )


def _problem(event: Applied) -> tuple[str, dict[str, str]] | None:
    result, auxiliary = event.result, has_auxiliary(event.transformed)
    if auxiliary is None:
        return None
    if auxiliary:
        if isinstance(result, Sequence) and result.items is not None and len(result.items) == 2:
            result, beside = result.items
            if is_several(result) and isinstance(beside, Data) and beside.node.shape == ():
                return "auxiliary first", {}
        elif is_several(result) or (isinstance(result, Data) and result.is_array):
            return "auxiliary", {}
        else:
            return None
    if is_several(result):
        return "tuple loss", {}
    if not isinstance(result, Data):
        return None
    if least_rank(result.node.shape) > 0 and not _is_only_annotated(result.node.shape):
        return "vector loss", {"shape": shown_shape(result.node.shape)}
    if result.node.shape is not None and is_integer(result.node):
        return "integer loss", {"dtype": str(result.node.dtype).rstrip("*")}
    return None


def _is_only_annotated(shape: Shape) -> bool:
    """Whether nothing but names in annotations says that there are axes.

    Functions that are written for arrays are differentiated at single numbers.
    """
    dims = (*shape.lead, *shape.trail) if isinstance(shape, Partial) else shape or ()
    return all(map(is_declared, dims))


RULE = Rule(
    code="GR201",
    name="not-a-scalar-loss",
    title="Gradient of something that is not a scalar",
    family="grad",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    explanation="""\
A gradient says how one number changes with the arguments. For several numbers it is a Jacobian,
and extra results have to be declared by `has_aux=True`.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(w, x, y):
    return (x @ w - y) ** 2

def entry(w, x, y):
    return jax.grad(loss)(w, x, y)

def inputs():
    return jnp.ones(3), jnp.ones((5, 3)), jnp.ones(5)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

def entry(w, x, y):
    return jax.grad(loss)(w, x, y)

def inputs():
    return jnp.ones(3), jnp.ones((5, 3)), jnp.ones(5)
""",
    trace=check,
    source=check_source,
)
