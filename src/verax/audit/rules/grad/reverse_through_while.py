"""Gradients of loops whose number of turns is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Loop
from ...source.queries.gradients.flows import flows
from ...source.values import Data, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
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
                    fix="use `jax.lax.scan`, or `jax.lax.fori_loop` with constant bounds, and mask "
                    "the iterations after the end; or give the loop a `jax.custom_vjp`",
                    evidence=(Evidence("differentiated here", facts.place(flow.step)),),
                )


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Loops of an unknown number of turns that a gradient comes back through."""
    loops = [
        loop
        for loop in facts.events(Loop)
        if loop.kind == "while_loop"
        or (loop.kind == "fori_loop" and isinstance(loop.length, Data) and loop.length.traced)
    ]
    for flow in flows(facts) if loops else ():
        if flow.event.transformed.kind not in ("grad", "value_and_grad", "vjp", "jacrev"):
            continue
        for loop in loops:
            final = nodes_of(loop.outside) if loop.outside is not None else []
            if any(
                flow.gets(node)
                and node in flow.trained_through
                and not flow.context.is_custom(node)
                for node in final
            ):
                yield RULE.finding(
                    loop.place,
                    current="JAX raises here: it cannot differentiate a while loop (or a fori_loop "
                    "with bounds that are not known while tracing) in reverse mode",
                    expected="a loop with a number of turns that is known while tracing",
                    fix="use `jax.lax.scan`, or `jax.lax.fori_loop` with constant bounds, and mask "
                    "the iterations after the end; or give the loop a `jax.custom_vjp`",
                    evidence=(Evidence("differentiated here", flow.event.place),),
                    engine=Engine.SOURCE,
                )


RULE = Rule(
    code="GR018",
    name="reverse-through-while",
    title="Reverse-mode differentiation of a while loop",
    family="grad",
    severity=Severity.ERROR,
    exact="the trace shows a while loop that a reverse-mode derivative comes back through",
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
    source=check_source,
)
