"""One jitted function, compiled anew at every call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Place, Severity
from ...source.events import Applied
from ...source.queries.loops import recompiling
from ...source.queries.loops.growing import Growing, growing
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...trace.compilations import Recompiled
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Calls in a loop whose types are never the same twice."""
    from ...trace.compilations import recompilations

    for found in recompilations(facts):
        if found.argument is None:
            current = f"{found.function} is compiled {found.versions} times for arguments of the "
            current += "same types: something that is not an array changes from call to call"
            fix = "pass what changes as an array, not as a static argument, and jit the function "
            fix += "once, outside of the loop"
        else:
            current = _growing(found)
            fix = "keep one shape: pass the whole array and how much of it counts (a mask, a "
            fix += "length), or pad to a fixed size; for running results use `jax.lax.scan`"
        yield RULE.finding(
            found.place,
            current=current,
            expected="calls in a loop share one compiled program",
            fix=fix,
        )


def _growing(found: Recompiled) -> str:
    shapes = found.shapes
    listed = ", ".join(str(shape) for shape in (*shapes[:2],))
    return (
        f"{found.function} is called with {found.versions} shapes, {listed} … {shapes[-1]}, and "
        f"compiled for each of them"
    )


_SHAPE = (
    "keep one shape: pass the whole array and how much of it counts (a mask, a length), or pad to "
    "a fixed size; for running results use `jax.lax.scan`"
)
_ONCE = "jit the function once, outside of the loop"
_ARRAY = "keep it as an array: `jnp.asarray(0)`"
_PASS = "pass what changes as an array, not as a static argument"


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Calls in loops of Python's with another shape, static argument or function each time."""
    calls = [
        it
        for it in facts.events(Applied)
        # Where it is made stands for calls elsewhere, of which nobody knows how many there are.
        if it.transformed.kind == "jit"
        and not it.frame.is_staged
        and it.syntax is not it.transformed.syntax
    ]
    grown = growing(facts) if calls else Growing()
    for applied in calls:
        found = recompiling.another_shape(applied, grown)
        if found is not None:
            yield _found(applied, f"an argument, {found}, has another shape in each turn", _SHAPE)
        name = recompiling.another_static(facts, applied)
        if name:
            yield _found(
                applied, f"the static argument `{name}` is another one in each turn", _PASS
            )
        field = recompiling.another_field(facts, applied)
        if field is not None:
            yield _found(
                applied,
                f"`{field[0]}` is a number of Python's, which `filter_jit` takes "
                "as static, and another one in each turn",
                _ARRAY,
                field[1],
            )
        made = recompiling.another_function(facts, applied)
        if made is not None:
            yield _found(applied, "the function is a new one in each turn", _ONCE, made)


def _found(applied: Applied, why: str, fix: str, place: Place | None = None) -> Verdict:
    return RULE.finding(
        place or applied.place,
        current=f"`{applied.text}` compiles in each turn of the loop around it: {why}",
        expected="calls in a loop share one compiled program",
        fix=fix,
        engine=Engine.SOURCE,
    )


RULE = Rule(
    code="JT304",
    name="compiled-again",
    title="A jitted function is compiled again at every call",
    family="jit",
    severity=Severity.MINOR,
    proven=True,
    explanation="""\
A jitted function is compiled once for each combination of shapes, dtypes and static arguments. A
loop that hands it a slice which grows by one each time, or a static number that counts up, or that
jits a new lambda in every turn, compiles in every turn; that takes longer than the computation.
`equinox.filter_jit` takes numbers of Python's as static, also those in the fields of a module.

Reported for calls from outside of jitted code, when one line calls the same function in four or
more versions, and a size changes by a constant, nothing but static arguments change, or the same
parameters meet items of which each is of another length.""",
    wrong="""\
import jax
import jax.numpy as jnp


@jax.jit
def spread(seen):
    return seen.max() - seen.min()


def entry(series):
    return jnp.stack([spread(series[:n]) for n in range(2, series.shape[0])])


def inputs():
    return (jnp.linspace(0.0, 1.0, 10),)
""",
    right="""\
import jax
import jax.numpy as jnp


@jax.jit
def spread(series):
    return jax.lax.cummax(series) - jax.lax.cummin(series)


def entry(series):
    return spread(series)


def inputs():
    return (jnp.linspace(0.0, 1.0, 10),)
""",
    trace=check,
    source=check_source,
)
