"""One jitted function, compiled for a Python number and for an array."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Calls that differ in nothing but a weak type."""
    from ...trace.compilations import weak_type_versions
    from ...trace.describe import tensor_of

    for found in weak_type_versions(facts):
        function = found.weak.bodies[0].function
        argument = found.name or f"argument {found.argument}"
        weak, strong = (it.inputs[found.argument] for it in (found.weak, found.strong))
        what = "made of Python numbers alone" if weak.shape else "a Python number"
        yield RULE.finding(
            facts.place(found.weak),
            current=f"{function} is compiled twice: {argument} is {what} here, and an array "
            f"{tensor_of(facts, strong)} in another call, which promotes otherwise",
            expected="all calls share one compiled program",
            fix=f"start with an array of that dtype: `jnp.zeros((), jnp.{strong.dtype})` for `0`, "
            f"or `jnp.full(3, 0.5, jnp.{strong.dtype})` for `jnp.full(3, 0.5)`",
            evidence=(Evidence("the call with an array", found.strong.place),),
        )


RULE = Rule(
    code="JT305",
    name="compiled-for-weak-type",
    title="A jitted function is compiled twice, for a Python number and an array",
    family="jit",
    severity=Severity.MINOR,
    exact="the trace shows both calls and their types",
    explanation="""\
A Python number has a weak type: it takes the dtype of what it meets. An array of the same dtype
does not, so JAX compiles a function for each. A loop that starts with `total = 0.0` and hands on
what it got back compiles its step twice: at the first call, and at the second. `jnp.full(3, 0.5)`
without a dtype is as weak as the number. A warning, since that costs one compilation and no more.

Reported for calls from outside of jitted code that differ in nothing but this, when one line makes
both, or one is given what the other returned.""",
    wrong="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(total, x):
    return total + x.sum()


def entry(xs):
    total = 0.0
    for x in xs:
        total = step(total, x)
    return total


def inputs():
    return (jnp.ones((4, 3)),)
""",
    right="""\
import jax
import jax.numpy as jnp


@jax.jit
def step(total, x):
    return total + x.sum()


def entry(xs):
    total = jnp.zeros(())
    for x in xs:
        total = step(total, x)
    return total


def inputs():
    return (jnp.ones((4, 3)),)
""",
    warns=True,
    trace=check,
)
