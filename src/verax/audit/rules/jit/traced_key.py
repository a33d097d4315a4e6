"""A traced value that has to be hashed: the key of a dict, a static argument."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Applied, Conversion, Event, Fact
from ...source.queries.arguments import static_arguments
from ...source.queries.arrays import may_be_word
from ...source.queries.syntax import body_of, is_guarded
from ...source.values import Data, Value, leaves
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


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
            "Stack the entries with `jnp.stack` and index the array, or choose a function with "
            "`jax.lax.switch`."
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


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Tracers as keys, and as arguments of an inner function that takes them as static."""
    for conversion in facts.events(Conversion):
        if conversion.kind != "key" or not _is_tracer(facts, conversion.value):
            continue
        if not is_guarded(conversion.frame, conversion.syntax):
            what = f"`{conversion.text}` looks something up by a traced array, which has no value"
            yield _found(conversion, f"{what} to hash", _STACK)
    for fact in facts.events(Fact):
        if fact.kind != "format" or not any(_is_tracer(facts, it) for it in fact.data["values"]):
            continue
        if _is_key(body_of(fact.frame), fact.syntax):
            what = f"`{fact.text}` is a key, made from a traced array that has no value to show"
            yield _found(fact, what, _STACK)
    for applied in facts.events(Applied):
        for name, value in static_arguments(applied):
            if isinstance(value, Data) and value.traced:
                what = f"`{applied.text}` passes a traced value as `{name}`, which is static"
                yield _found(applied, what, _PASS)


_STACK = (
    "Stack the entries with `jnp.stack` and index the array, or choose a function with "
    "`jax.lax.switch`."
)
_PASS = "Pass arrays as ordinary arguments, and what is static as a number, string or tuple."


def _is_tracer(facts: SourceFacts, value: Value) -> bool:
    """Whether tracers are in a value, which is not the name of an entry."""
    return any(leaf.traced and not may_be_word(facts, leaf) for leaf in leaves(value))


def _is_key(function: ast.AST, text: ast.AST) -> bool:
    """Whether a text looks something up, or names an entry of a dict."""
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and node.slice is text:
            return True
        if isinstance(node, ast.Dict) and any(it is text for it in node.keys):
            return True
        if isinstance(node, ast.DictComp) and node.key is text:
            return True
    return False


def _found(event: Event, current: str, fix: str) -> Finding:
    return RULE.finding(
        event.place,
        current=current,
        expected="keys and static arguments are known while tracing",
        fix=fix,
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT205",
    name="traced-key",
    title="Traced value as key or static argument",
    family="jit",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
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
    source=check_source,
)
