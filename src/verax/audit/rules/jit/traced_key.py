"""A traced value that has to be hashed: the key of a dict, a static argument."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kinds "dict key" and "static argument"."""
    failure = facts.failure
    if failure is None or failure.kind not in ("dict key", "static argument"):
        return
    text = failure.statement.text if failure.statement else ""
    operands = failure.operands_in_words()
    if failure.kind == "dict key":
        current = f"`{text}` looks something up by a traced array, which has no value to hash"
        fix = (
            "Number the entries: `jnp.stack([table[k] for k in order])[index]`, or choose a "
            "function by `jax.lax.switch(index, branches, ...)`."
        )
    else:
        kind = failure.details["cls"].rpartition(".")[2]
        kind = "traced array" if kind.endswith("Tracer") else kind
        current = f"`{text}` passes a {kind} as a static argument, which has to be hashable"
        fix = "Pass arrays as ordinary arguments, and what is static as a number, string or tuple."
    yield RULE.finding(
        failure.place,
        current=current + (f"; {operands}" if operands else ""),
        expected="keys and static arguments are known while tracing",
        fix=fix,
        evidence=failure.calls(),
    )


RULE = Rule(
    code="JT205",
    name="traced-key",
    title="Traced value as key or static argument",
    family="jit",
    severity=Severity.ERROR,
    explanation="""\
A dict, a set and a static argument need the hash of a value. A traced array has none: which entry
is meant is known only when the program runs.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(gains, mode):
    table = {0: gains[0] * 2.0, 1: gains[1]}
    return table[mode]

def inputs():
    return jnp.ones((2, 3)), jnp.int32(1)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(gains, mode):
    table = jnp.stack([gains[0] * 2.0, gains[1]])
    return table[jnp.clip(mode, 0, 1)]

def inputs():
    return jnp.ones((2, 3)), jnp.int32(1)
""",
    trace=check,
)
