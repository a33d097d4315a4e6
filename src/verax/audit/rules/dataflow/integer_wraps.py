"""Integers that leave their dtype and come back at its other end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Severity
from ...source.queries.arrays import arrays_in_words
from ...source.queries.nodes import all_nodes, users_of
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
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


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Differences of two arrays of narrow integers without a sign."""
    found = [it for it in all_nodes(facts) if _is_unsigned_difference(it)]
    users = users_of(facts) if found else {}
    for node in found:
        place = node.place
        if place is None or any(map(_means_it, users.get(node, ()))):
            continue
        yield RULE.finding(
            place,
            current=f"the difference of {arrays_in_words(facts, list(node.operands))} is computed "
            f"in {node.dtype}, which holds nothing below zero: it wraps around",
            expected="the result fits the dtype that it is computed in",
            fix=_fix(node.dtype or "", "sub"),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


def _is_unsigned_difference(node: Node) -> bool:
    if node.dtype not in ("uint8", "uint16") or node.operation not in ("-", "jax.numpy.subtract"):
        return False
    sides = [it.node for it in node.operands if isinstance(it, Data)]
    # What is subtracted from a maximum or a constant array may be known to be smaller.
    plain = [it for it in sides if it.dtype == node.dtype and not _is_bound(it)]
    return len(plain) == 2


def _is_bound(node: Node) -> bool:
    return node.operation.rpartition(".")[2] in ("maximum", "max", "full", "full_like")


def _means_it(user: Node) -> bool:
    """Whether what wraps is chosen away, masked, or read as signed again."""
    name = user.operation.rpartition(".")[2]
    is_signed = name in ("astype", "view") and user.dtype in ("int8", "int16")
    return is_signed or name in ("where", "select", "minimum") or user.operation in ("&", "%")


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
    source=check_source,
)
