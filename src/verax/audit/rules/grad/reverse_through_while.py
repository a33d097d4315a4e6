"""Gradients of loops whose number of turns is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Evidence, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Finding]:
    """Report while loops that a gradient would have to be pulled back through."""
    from ...trace.gradients import reverse_loops

    for flow in facts.gradients.flows:
        if flow.detail.kind in ("grad", "vjp") and flow.detail.applied:
            for step in reverse_loops(flow):
                yield RULE.finding(
                    facts.place(step),
                    current="JAX raises here: it cannot differentiate a while loop (or a fori_loop "
                    "with bounds that are not known while tracing) in reverse mode",
                    expected="a loop with a number of turns that is known while tracing",
                    fix="use lax.scan, or lax.fori_loop with constant bounds, and mask the turns "
                    "after the end; or give the loop a custom_vjp",
                    evidence=(Evidence("differentiated here", facts.place(flow.step)),),
                )


RULE = Rule(
    code="GR018",
    name="reverse-through-while",
    title="Reverse-mode differentiation of a while loop",
    family="grad",
    severity=Severity.ERROR,
    explanation="""\
Reverse mode needs the intermediate values of every turn, for which memory must be set aside when
the program is compiled. A loop with an unknown number of turns has none, and JAX raises.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def halve(x):
    return jax.lax.while_loop(lambda v: v > 1.0, lambda v: v / 2, x)

def entry(x):
    return jax.grad(halve)(x)

def inputs():
    return (jnp.float32(9.0),)
""",
    right="""\
import jax
import jax.numpy as jnp

def halve(x):
    return jax.lax.fori_loop(0, 8, lambda i, v: jnp.where(v > 1.0, v / 2, v), x)

def entry(x):
    return jax.grad(halve)(x)

def inputs():
    return (jnp.float32(9.0),)
""",
    trace=check,
)
