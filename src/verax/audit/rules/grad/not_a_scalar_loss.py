"""A gradient of something that is not one real number."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


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
        "Return `loss, aux`, with all extra values in one tuple or dict; or leave `has_aux` out.",
    ),
}


RULE = Rule(
    code="GR201",
    name="not-a-scalar-loss",
    title="Gradient of something that is not a scalar",
    family="grad",
    severity=Severity.ERROR,
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
)
