"""A value that is not known while tracing, made into a Python number, an index or a NumPy array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.events import Conversion, Event, Mutation
from ...source.queries.syntax import is_guarded
from ...source.values import Data, leaves
from ...trace.facts import Facts
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts

_WAYS = {
    "__index__": (
        "as an integer of Python (an index of a list, `range`, a size)",
        "Index an array instead of a list (`jnp.stack`), loop with `jax.lax.fori_loop`, "
        "or pass the number as a static argument.",
    ),
    "__array__": (
        "to a function of NumPy",
        "Call the function of `jax.numpy`; where there is none, `jax.pure_callback`.",
    ),
    "format": (
        "to a format string",
        "Print it by `jax.debug.print`, and keep names that depend on values out of the program.",
    ),
    "float": ("to `float`", "Leave it an array; convert its type with `jnp.astype`."),
    "int": ("to `int`", "Leave it an array; convert its type with `jnp.astype`."),
    "bool": ("to `bool`", "Leave it an array; choose by `jnp.where` or `jax.lax.cond`."),
}
_OTHERWISE = (
    "where Python needs its value",
    "Stay with functions of `jax.numpy`, or pass what never changes as a static argument.",
)


def check(facts: Facts) -> Iterator[Finding]:
    """A failure of the kind "python value"."""
    failure = facts.failure
    if failure is None or failure.kind != "python value":
        return
    where, fix = _WAYS.get(failure.details.get("function", ""), _OTHERWISE)
    text = failure.statement.text if failure.statement else ""
    operands = failure.operands_in_words()
    yield RULE.finding(
        failure.place,
        current=f"`{text}` gives a traced {failure.details.get('type', 'array')} {where}"
        + (f"; {operands}" if operands else ""),
        expected="values of arrays stay in arrays while a function is traced",
        fix=fix,
        evidence=failure.calls(),
    )


# By which way a conversion of the source engine goes, and whether a tree would do as well.
_KINDS = {
    "range": "__index__",
    "index": "__index__",
    "slice": "__index__",
    "numpy": "__array__",
    "format": "format",
    "float": "float",
    "int": "int",
    "complex": "float",
    "bool": "bool",
    "method": "",
}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Conversions of tracers, and tracers that are written into arrays of NumPy."""
    for conversion in facts.events(Conversion):
        way = _KINDS.get(conversion.kind)
        if way is None or is_guarded(conversion.frame, conversion.syntax):
            continue
        traced = [leaf for leaf in leaves(conversion.value) if leaf.traced]
        if conversion.kind == "bool":
            traced = [leaf for leaf in traced if leaf.is_array]  # A dict can be true or false.
        if traced:
            yield _found(facts, conversion, traced[0], way)
    for change in facts.events(Mutation):
        target = change.target
        if change.how == "item" and isinstance(target, Data) and change.value is not None:
            traced = [leaf for leaf in leaves(change.value) if leaf.traced]
            if traced and target.node.operation.startswith("numpy."):
                yield _found(facts, change, traced[0], "__array__")


def _found(facts: SourceFacts, event: Event, value: Data, way: str) -> Finding:
    where, fix = _WAYS.get(way, _OTHERWISE)
    return RULE.finding(
        event.place,
        current=f"`{event.text}` gives `{facts.name_of(value)}`, which is traced, {where}",
        expected="values of arrays stay in arrays while a function is traced",
        fix=fix,
        evidence=facts.why_traced(event.frame, value),
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT202",
    name="traced-python-value",
    title="Traced value used as a Python value",
    family="jit",
    severity=Severity.ERROR,
    exact="JAX raises while it traces the program",
    preview=True,
    explanation="""\
`int(x)`, `float(x)`, `range(x)`, `items[x]` of a list and functions of NumPy need the contents of
an array. While a function is traced there are none.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(x, n):
    for _ in range(n):
        x = jnp.sin(x)
    return x

def inputs():
    return jnp.ones(3), jnp.int32(2)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(x, n):
    return jax.lax.fori_loop(0, n, lambda _, x: jnp.sin(x), x)

def inputs():
    return jnp.ones(3), jnp.int32(2)
""",
    trace=check,
    source=check_source,
)
