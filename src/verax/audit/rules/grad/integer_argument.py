"""A derivative with respect to an argument that cannot have one."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "integer argument" and "argnums"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("integer argument", "argnums"):
        return
    text = failure.statement.text if failure.statement else "the derivative"
    operands = failure.operands_in_words()
    if failure.kind == "argnums":
        details = failure.details
        what = f"argument {details['argnums']}, but fewer than {details['needed']} are positional"
        fix = "Count positional arguments from zero, and pass the differentiated one by position."
    else:
        what = f"an argument of {failure.details['dtype']}"
        fix = (
            "Choose the parameters by `argnums`, keep integers (steps, indices, labels) in other "
            "arguments, or make the argument a float (`1.0` instead of `1`)."
        )
    yield RULE.finding(
        failure.place,
        current=f"`{text}` differentiates with respect to {what}"
        + (f"; {operands}" if operands else ""),
        expected="derivatives are taken with respect to real or complex arrays",
        fix=fix,
        evidence=failure.calls(),
    )


RULE = Rule(
    code="GR202",
    name="integer-argument",
    title="Derivative with respect to an integer",
    family="grad",
    severity=Severity.ERROR,
    explanation="""\
`jax.grad` differentiates with respect to its first argument unless `argnums` says otherwise.
Integers and booleans have no derivative.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def loss(label, w):
    return jnp.sum(w**2) - w[label]

def entry(label, w):
    return jax.grad(loss)(label, w)

def inputs():
    return jnp.int32(1), jnp.ones(3)
""",
    right="""\
import jax
import jax.numpy as jnp

def loss(label, w):
    return jnp.sum(w**2) - w[jnp.clip(label, 0, 2)]

def entry(label, w):
    return jax.grad(loss, argnums=1)(label, w)

def inputs():
    return jnp.int32(1), jnp.ones(3)
""",
    trace=check,
)
