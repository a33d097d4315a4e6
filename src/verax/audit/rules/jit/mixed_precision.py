"""Float32 that becomes float64 because it met something in double precision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step


def check(facts: Facts) -> Iterator[Verdict]:
    """Casts to float64 that promotion has put in. Without x64 there are none."""
    from ...trace.phrases import phrase

    for step in facts.steps:
        partner = _promoted_by(step)
        if partner is None:
            continue
        statement = facts.sources.statement(facts.place(step))
        if statement is None or "float64" in statement.text or "astype" in statement.text:
            continue
        narrow = phrase(facts, step.inputs[0])
        yield RULE.finding(
            facts.place(step),
            current=f"{narrow} is float32 and meets {phrase(facts, partner)} in float64, so that "
            "it and all that follows becomes float64",
            expected="one precision throughout",
            fix="make the other operand float32 (`dtype=jnp.float32`), or convert to `jnp.float64` "
            "explicitly where double precision is meant",
        )


def _promoted_by(step: Step):
    """The float64 operand that a float32 array was promoted for."""
    if step.primitive != "convert_element_type" or math.prod(step.inputs[0].shape) < 2:
        return None
    if (str(step.inputs[0].dtype), str(step.outputs[0].dtype)) != ("float32", "float64"):
        return None
    for consumer in step.outputs[0].consumers:
        others = [value for value in consumer.inputs if value is not step.outputs[0]]
        if consumer.place == step.place and consumer.kind == "operation":
            for other in others:
                if str(other.dtype) == "float64" and not getattr(other.aval, "weak_type", False):
                    return other
    return None


RULE = Rule(
    code="JT303",
    name="mixed-precision",
    title="Single precision meets double precision",
    family="jit",
    severity=Severity.MINOR,
    warns=True,
    exact="the trace shows the conversion and the operand that it is made for",
    explanation="""\
With `jax_enable_x64`, numpy's arrays and scalars are float64, and one of them makes everything that
it meets float64: twice the memory, and on accelerators a fraction of the speed. Python numbers do
not; they take on the dtype of the array.

A warning for casts that promotion has put in, on lines that do not ask for float64.""",
    wrong="""\
import jax
import jax.numpy as jnp
import numpy as np

WEIGHTS = np.array([0.25, 0.5, 0.25])


def entry(signal):
    with jax.enable_x64(True):
        return (signal * WEIGHTS).sum()


def inputs():
    return (jnp.ones(3, jnp.float32),)
""",
    right="""\
import jax
import jax.numpy as jnp
import numpy as np

WEIGHTS = np.array([0.25, 0.5, 0.25], np.float32)


def entry(signal):
    with jax.enable_x64(True):
        return (signal * WEIGHTS).sum()


def inputs():
    return (jnp.ones(3, jnp.float32),)
""",
    trace=check,
)
