"""A Python condition on a value that is not known while tracing."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Call, Conversion, Event, Test
from ...source.queries.syntax import is_guarded
from ...source.values import Data, Sequence, Value
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


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
    """Tests of tracers by Python, and functions of its own that compare one by one."""
    for test in facts.events(Test):
        value = test.value
        if not isinstance(value, Data) or not value.traced:
            continue
        if not value.is_array and value.node not in facts.machine.used_as_arrays:
            continue  # It may be a tree, which may be empty.
        if not is_guarded(test.frame, test.syntax):
            yield _found(facts, test, value, f"{test.kind} {test.text}")
    yield from _flags(facts)
    for conversion in facts.events(Conversion):
        if conversion.kind not in ("max", "min", "sorted", "in", "compared"):
            continue
        compared = _compared(conversion)
        if compared is not None and not is_guarded(conversion.frame, conversion.syntax):
            yield _found(facts, conversion, compared, conversion.text)


# Layers of flax that decide by these what they do.
_FLAGS = frozenset(("deterministic", "use_running_average"))


def _flags(facts: SourceFacts) -> Iterator[Finding]:
    """Tracers that say how a layer behaves: whether it drops anything, say."""
    for call in facts.events(Call):
        if _FLAGS.isdisjoint(call.keywords) or not call.name.startswith(("flax.", "object.")):
            continue
        for name in _FLAGS & call.keywords.keys():
            value = call.keywords[name]
            if isinstance(value, Data) and value.traced and value.is_array:
                yield RULE.finding(
                    call.place,
                    current=f"`{call.text}` decides by `{name}`, which is traced here",
                    expected="Python decides only by what is known while tracing: shapes, dtypes, "
                    "static arguments",
                    fix="Name the flag in `static_argnames`, or jit one function for training and "
                    "one for evaluation.",
                    evidence=facts.why_traced(call.frame, value),
                    engine=Engine.SOURCE,
                )


def _found(facts: SourceFacts, event: Event, value: Value, text: str) -> Finding:
    what = event.text if isinstance(event, Test) else facts.name_of(value)
    return RULE.finding(
        event.place,
        current=f"`{what}` is traced here, and Python asks whether it is true"
        if isinstance(event, Test)
        else f"`{event.text}` compares `{what}`, which is traced, and asks what is true",
        expected="Python decides only by what is known while tracing: shapes, dtypes, static "
        "arguments",
        fix=_fix(text),
        evidence=facts.why_traced(event.frame, value),
        engine=Engine.SOURCE,
    )


def _compared(conversion: Conversion) -> Data | None:
    """A traced array that Python compares with others: not by a key, nor in a tuple after one."""
    call = conversion.syntax
    if isinstance(call, ast.Call) and conversion.kind != "compared":
        is_alone = conversion.kind != "sorted" and len(call.args) > 1
        if any(it.arg == "key" for it in call.keywords):
            return None
        value = conversion.value
        items = [value] if is_alone else _elements(value)
    else:
        items = [conversion.value]
    for item in items:
        if isinstance(item, Data) and item.traced and item.is_array:
            return item
    return None


def _elements(value: Value) -> list[Value]:
    if isinstance(value, Sequence):
        if value.items is not None:
            return value.items if len(value.items) > 1 else []
        return [value.element] if value.element is not None else []
    return [value]


def _fix(text: str) -> str:
    if text.startswith("while"):
        return "Write the loop with `jax.lax.while_loop`."
    if text.startswith("assert"):
        return "Check it with `verax.runtime_assert`, which works inside of jit."
    if re.search(r"(?<![.\w])(max|min|sorted|any|all)\(|\.sort\(", text):
        return (
            "Python's `max`, `min`, `sorted`, `any` and `all` compare one by one; use "
            "`jnp.maximum`, `jnp.minimum`, `jnp.sort`, `jnp.any`, `jnp.all`."
        )
    if " and " in text or " or " in text or " not " in text:
        return (
            "Combine arrays with `jnp.logical_and`, `jnp.logical_or`, `jnp.logical_not`, then "
            "choose with `jnp.where` or `jax.lax.cond`."
        )
    return (
        "Compute both sides and choose with `jnp.where`, or take one branch with `jax.lax.cond`. "
        "A flag that never changes belongs in `static_argnames`."
    )


RULE = Rule(
    code="JT201",
    name="traced-condition",
    title="Python condition on a traced value",
    family="jit",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    preview=True,
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
