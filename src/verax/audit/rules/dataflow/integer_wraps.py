"""Integers that leave their dtype and come back at its other end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts


def check(facts: Facts) -> Iterator[Verdict]:
    """Integer operations that are known to overflow."""
    from ...trace.integers import overflows
    from ...trace.phrases import phrase
    from ...trace.ranges.interval import kind_of, shown

    for overflow in overflows(facts):
        step = overflow.step
        dtype = step.outputs[0].dtype
        kind = kind_of(dtype)
        what = _WORDS[step.primitive].format(*(phrase(facts, value) for value in step.inputs))
        held = f"{kind.low} to {shown(kind.high)}"
        beyond = "below" if overflow.number < kind.low else "above"
        yield RULE.finding(
            facts.place(step),
            current=f"{what} can be {shown(overflow.number)}, and {dtype} holds {held}: it wraps "
            f"around {beyond} the end",
            expected="the result fits the dtype that it is computed in",
            fix=_fix(str(dtype), step.primitive),
        )


def _fix(dtype: str, primitive: str) -> str:
    wider = "int16" if dtype in ("uint8", "int8") else "int32" if "16" in dtype else "float32"
    if primitive == "convert_element_type":
        return "convert to a dtype that holds the whole range, or clip before converting"
    return f"convert the operands to a wider signed dtype before computing, `x.astype(jnp.{wider})`"


_WORDS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "neg": "-{}",
    "square": "the square of {}",
    "integer_pow": "a power of {}",
    "dot_general": "the product of {} and {}",
    "convert_element_type": "{}",
}


RULE = Rule(
    code="DF202",
    name="integer-wraps",
    title="An integer wraps around",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
Integers of a fixed width wrap around silently: in uint8, 3 - 5 is 254 and 200 + 100 is 44. Taking
`abs` afterwards, or converting to float, comes too late.

Reported for bytes and other narrow integers, whose whole range is used, and for wider ones where
the range is known. Not reported where the difference cannot be negative (`max(a, b) - b`), where a
`where` drops what wrapped, or where wrapping is meant (a cast to the signed dtype of equal width,
bit masks).""",
    wrong="""\
import jax.numpy as jnp


def entry(before, after):
    change = after - before
    return jnp.abs(change).astype(jnp.float32).mean()


def inputs():
    return jnp.zeros((4, 4), jnp.uint8), jnp.ones((4, 4), jnp.uint8)
""",
    right="""\
import jax.numpy as jnp


def entry(before, after):
    change = after.astype(jnp.int16) - before.astype(jnp.int16)
    return jnp.abs(change).astype(jnp.float32).mean()


def inputs():
    return jnp.zeros((4, 4), jnp.uint8), jnp.ones((4, 4), jnp.uint8)
""",
    trace=check,
)
