"""A Python condition on a value that is not known while tracing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...finding import Engine, Finding, Severity
from ...source.facts import SourceFacts
from ...trace.facts import Facts
from .._rule import Rule


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "condition"."""
    failure = facts.failure
    if failure is None or failure.kind != "condition":
        return
    text = failure.statement.text if failure.statement else "a condition"
    operands = failure.operands_in_words()
    yield RULE.finding(
        failure.place,
        current=f"`{text}` asks whether a traced {failure.details['type']} is true"
        + (f"; {operands}" if operands else ""),
        expected="Python decides only by what is known while tracing: shapes, dtypes, static "
        "arguments",
        fix=_fix(text),
        evidence=failure.calls(),
    )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Tests of tracers by Python."""
    from ...source.events import Test

    for test in facts.events(Test):
        value = test.value
        if not (value.traced and value.is_array):
            continue
        yield RULE.finding(
            test.place,
            current=f"`{test.text}` is traced here, and Python asks whether it is true",
            expected="Python decides only by what is known while tracing: shapes, dtypes, static "
            "arguments",
            fix=_fix(f"{test.kind} {test.text}"),
            evidence=facts.why_traced(test.frame, value),
            engine=Engine.SOURCE,
        )


def _fix(text: str) -> str:
    if text.startswith("while"):
        return "Write the loop with `jax.lax.while_loop`."
    if text.startswith("assert"):
        return "Check it with `verax.runtime_assert`, which works inside of jit."
    if re.search(r"(?<![.\w])(max|min|sorted|any|all)\(", text):
        return (
            "Python's `max`, `min`, `sorted`, `any` and `all` compare one by one; use "
            "`jnp.maximum`, `jnp.minimum`, `jnp.sort`, `jnp.any`, `jnp.all`."
        )
    if " and " in text or " or " in text or " not " in text:
        return "Use `&`, `|`, `~` on arrays, then `jnp.where` or `jax.lax.cond` to choose by them."
    return (
        "Compute both sides and choose by `jnp.where(condition, a, b)`, or take one branch by "
        "`jax.lax.cond`. A flag that never changes belongs in `static_argnames`."
    )


RULE = Rule(
    code="JT201",
    name="traced-condition",
    title="Python condition on a traced value",
    family="jit",
    severity=Severity.ERROR,
    explanation="""\
`if`, `while`, `assert`, `and`, `or`, `not` and `in` ask Python for a truth value. Inside of
`jit`, `vmap`, `grad` or `scan` an array stands for all values that it may have, and has none.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(g):
    norm = jnp.linalg.norm(g)
    if norm > 1.0:
        g = g / norm
    return g

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(g):
    norm = jnp.linalg.norm(g)
    return jnp.where(norm > 1.0, g / jnp.maximum(norm, 1.0), g)

def inputs():
    return (jnp.ones(3),)
""",
    trace=check,
    source=check_source,
)
