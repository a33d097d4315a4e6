"""Integers that leave their dtype and come back at its other end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Severity
from ...source.operations import CONTRACTIONS
from ...source.queries.arrays import arrays_in_words
from ...source.queries.nodes import all_nodes, is_flag, turned_flag, users_of
from ...source.queries.numbers.beyond import beyond_range
from ...source.shapes.reshaping import element_count
from ...source.values import Constant, Data, External, Value
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
        pair = (overflow.power.base, overflow.power.exponent) if overflow.power else ()
        words = _WORDS[step.primitive] if overflow.power is None else "{} ** {}"
        what = words.format(*(phrase(facts, value) for value in pair or step.inputs))
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
    return f"convert the operands to a wider signed dtype before computing, such as `jnp.{wider}`"


_WORDS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "neg": "-{}",
    "square": "the square of {}",
    "integer_pow": "a power of {}",
    "dot_general": "the product of {} and {}",
    "reduce_sum": "the sum of {}",
    "cumsum": "the running sum of {}",
    **dict.fromkeys(("scatter-add", "scatter_add"), "{0} with {2} added to it"),
    "convert_element_type": "{}",
}


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Differences, averages and products of arrays of narrow integers."""
    found = [(it, what) for it in all_nodes(facts) if (what := _what_wraps(it))]
    users = users_of(facts) if found else {}
    for node, what in found:
        place, after = node.place, users.get(node, ())
        if place is None or any(map(_means_it, after)):
            continue
        if what == "sum" and not any(_divides(it, node) for it in after):
            continue
        arrays = arrays_in_words(facts, list(node.operands))
        held = "below zero" if what == "difference" else f"above {_HELD[node.dtype]}"
        yield RULE.finding(
            place,
            current=f"the {what} of {arrays or 'arrays'} is computed "
            f"in {node.dtype}, which holds nothing {held}: it wraps around",
            expected="the result fits the dtype that it is computed in",
            fix=_FIXES[what] if what in _FIXES else _fix(node.dtype or "", "sub"),
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )
    yield from _measured(facts)


def _measured(facts: SourceFacts) -> Iterator[Verdict]:
    """Integers that are held against a number which their dtype does not hold."""
    for it in beyond_range(facts):
        yield RULE.finding(
            it.place,
            current=f"an {it.dtype} is held against {it.number:g} and cannot get there: it wraps "
            f"around above {it.held}",
            expected="the result fits the dtype that it is computed in",
            fix="compute it in floats, such as `jnp.float32`, or in a wider integer",
            engine=Engine.SOURCE,
            confidence=Confidence.LIKELY,
        )


_HELD: dict[str | None, int] = {"int8": 127, "uint8": 255, "int16": 32767, "uint16": 65535}
_FIXES = {
    "product": "add up in a wider dtype, `preferred_element_type=jnp.int32`",
    "total": "add up in a wider dtype, `dtype=jnp.int32`",
}
_LARGE = 256
_SUMS = frozenset(
    "jax.numpy.sum jax.numpy.cumsum ndarray.sum ndarray.cumsum jax.lax.cumsum "
    "jax.ops.segment_sum jax.lax.reduce".split()
)
# Less than zero where what they are given is not: `-x`, and what is smaller than the one before.
_FROM_ZERO = frozenset(("-x", "jax.numpy.diff"))


def _what_wraps(node: Node) -> str:
    """What an operation computes of two arrays of narrow integers that it may not be able to hold.

    Where wrapping depends on how large the numbers are, only bytes without a sign tell, pixels, and
    what leaves little of a range: squares, and products with large numbers.
    """
    if node.dtype not in _HELD:
        return ""
    sides = [it.node for it in node.operands if isinstance(it, Data)]
    # What is subtracted from a maximum or a constant array may be known to be smaller.
    plain = [it for it in sides if it.dtype == node.dtype and not _is_bound(it)]
    if node.operation in _FROM_ZERO and len(plain) == 1 and (node.dtype or "").startswith("uint"):
        return "difference"
    if _is_square(node) and plain and not _is_small(plain[0]):
        return "square"
    if node.operation in _SUMS:
        plain = plain[:1] if _is_sum(node) else []
        is_total = len(plain) == 1 and node.dtype == "uint8" and not _is_small(plain[0])
        return "total" if is_total or _are_too_many(node, sides) else ""
    if node.operation == "*" and _has_large_factor(node):
        return "multiple"
    if len(plain) == 1 and node.operation == "-" and node.operands[0] is not node.operands[1]:
        return "difference" if _is_below(node, plain[0]) else ""
    if len(plain) != 2:
        return ""
    if node.operation in CONTRACTIONS:
        is_counted = any(map(is_flag, plain))  # Sums of what a mask selects.
        return "product" if node.dtype in ("int8", "uint8") and not is_counted else ""
    if node.dtype not in ("uint8", "uint16"):
        return ""
    if node.operation == "-":
        return "difference"
    is_sum = node.operation == "+" and node.dtype == "uint8"
    return "sum" if is_sum and not any(map(_is_small, plain)) else ""


def _is_sum(node: Node) -> bool:
    """Whether a reduction adds up, and does not take the largest."""
    if node.operation != "jax.lax.reduce":
        return True
    by = [it.name.rpartition(".")[2] for it in node.operands if isinstance(it, External)]
    return "add" in by


def _are_too_many(node: Node, sides: list[Node]) -> bool:
    """Whether so many flags are counted that a dtype does not hold how many there are."""
    if len(sides) != 1 or not is_flag(turned_flag(sides[0])):
        return False
    count, kept = element_count(sides[0].shape), element_count(node.shape)
    if not isinstance(count, int) or not isinstance(kept, int) or not kept:
        return False
    return count // kept > _HELD[node.dtype]


def _has_large_factor(node: Node) -> bool:
    """Whether short integers are multiplied by a number that leaves few of them in their range.

    Bytes by one that none of them could be: a mask is well multiplied by 255.
    """
    least = min(_LARGE, _HELD[node.dtype] + 1)
    return any(abs(_number(it)) >= least for it in node.operands)


def _number(value: Value) -> int:
    """An integer that is written down, be it with its dtype: `jnp.int16(1000)`."""
    if isinstance(value, Data) and len(value.node.operands) == 1 and not value.node.inputs:
        value = value.node.operands[0]
    number = value.value if isinstance(value, Constant) else None
    return number if type(number) is int else 0


def _is_square(node: Node) -> bool:
    """Whether numbers are multiplied by themselves: `x * x`, `x**2`."""
    if node.operation == "jax.numpy.square":
        return True
    if node.operation not in ("*", "**") or len(node.operands) != 2:
        return False
    first, second = node.operands
    if node.operation == "**":
        return isinstance(second, Constant) and second.value == 2
    return isinstance(first, Data) and isinstance(second, Data) and first.node is second.node


def _is_below(node: Node, array: Node) -> bool:
    """Whether a large number is subtracted from bytes: those below it wrap around."""
    first, second = node.operands
    number = second.value if isinstance(second, Constant) else None
    is_large = type(number) is int and number >= 16
    return node.dtype == "uint8" and is_large and isinstance(first, Data) and first.node is array


def _is_small(node: Node) -> bool:
    """Whether numbers may be kept small: flags, counts, quotients and remainders."""
    name = node.operation.rpartition(".")[2]
    return is_flag(node) or name in ("//", "%", "&", ">>", "one_hot", "zeros", "ones", "clip")


def _divides(user: Node, total: Node) -> bool:
    """Whether a sum is made a mean."""
    return user.operation in ("//", "/", ">>") and user.inputs[:1] == (total,)


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
`abs` afterwards, or converting to float, comes too late. `jnp.cumsum` adds up in the dtype that it
is given, where `jnp.sum` takes a wider one.

Reported for bytes and other narrow integers, whose whole range is used, and for wider ones where
the range is known: where a number is multiplied, and then divided by or compared with one that its
dtype does not hold. Not reported where the difference cannot be negative (`max(a, b) - b`), where a
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
