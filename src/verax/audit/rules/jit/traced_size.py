"""A size that depends on values which are not known while tracing."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "mask" and "size"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("mask", "size"):
        return
    text = failure.statement.text if failure.statement else ""
    operands = failure.operands_in_words()
    details = failure.details
    function = details.get("function", details.get("other", ""))
    if function:
        how = f"`{function}` in `{text}` returns as many elements as the values of its argument say"
        fix = f"Say how many there are at most: `{function}(..., size=n, fill_value=...)`."
    elif failure.kind == "mask":
        how = f"`{text}` picks by a {details['type']} whose true elements nobody can count"
        fix = (
            "Keep the shape: `jnp.where(mask, x, neutral)`, then sum, take the maximum, or divide "
            "by `mask.sum()`; for a bounded number of elements `jnp.nonzero(mask, size=n)`."
        )
    else:
        how = f"`{text}` makes an array whose size is a traced value"
        fix = (
            "Make the size a static argument, take it from a shape, or cut a part of fixed size "
            "by `jax.lax.dynamic_slice`."
        )
    yield RULE.finding(
        failure.place,
        current=how + (f"; {operands}" if operands else ""),
        expected="every shape is known while tracing",
        fix=fix,
        evidence=failure.calls(),
    )


RULE = Rule(
    code="JT203",
    name="traced-size",
    title="Shape depends on a traced value",
    family="jit",
    severity=Severity.ERROR,
    explanation="""\
XLA compiles for fixed shapes. A boolean mask as index, `jnp.nonzero`, `jnp.unique`, `x[:n]` and
`jnp.zeros(n)` with a traced `n` give arrays whose size is known only when the program runs.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(rewards, done):
    return rewards[done].mean()

def inputs():
    return jnp.ones(4), jnp.array([True, False, True, False])
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(rewards, done):
    return jnp.where(done, rewards, 0.0).sum() / jnp.maximum(done.sum(), 1)

def inputs():
    return jnp.ones(4), jnp.array([True, False, True, False])
""",
    trace=check,
)
