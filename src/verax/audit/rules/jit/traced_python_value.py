"""A value that is not known while tracing, made into a Python number, an index or a NumPy array."""

from __future__ import annotations

from collections.abc import Iterator

from ...finding import Finding, Severity
from ...trace.facts import Facts
from .._rule import Rule

_WAYS = {
    "__index__": (
        "as an integer of Python (an index of a list, `range`, a size)",
        "Index an array instead of a list (`jnp.stack(items)[i]`), loop with `jax.lax.fori_loop`, "
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
    "float": ("to `float`", "Leave it an array; convert its type by `.astype(float)`."),
    "int": ("to `int`", "Leave it an array; convert its type by `.astype(int)`."),
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


RULE = Rule(
    code="JT202",
    name="traced-python-value",
    title="Traced value used as a Python value",
    family="jit",
    severity=Severity.ERROR,
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
)
