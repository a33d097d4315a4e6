"""A mask that is multiplied by infinity."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from ...source.operations import BROADCASTS, INFINITY, RESHAPES, TRANSPOSES, bare
from ...source.queries.nodes import nodes_by
from ...source.queries.numbers.masks import mask_name
from ...source.values import Constant, Data, External
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.values import Value

# The same zeros and ones, elsewhere.
_KEEPING = bare(RESHAPES | TRANSPOSES | BROADCASTS) | {"item"}


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Products of infinity with what is zero where nothing is masked."""
    told: set[object] = set()
    for node in nodes_by(facts, ("*",)):
        if node.syntax in told:
            continue
        mask = _mask_times_infinity(facts, node)
        if mask is None or node.place is None:
            continue
        told.add(node.syntax)
        yield RULE.finding(
            node.place,
            current="a mask is multiplied by infinity: where it is 0, the product is nan",
            expected="0 times infinity is not a number",
            fix="choose with `jnp.where` instead of multiplying, or use a large finite number",
            engine=Engine.SOURCE,
        )


def _mask_times_infinity(facts: SourceFacts, node: Node) -> Node | None:
    """What is zero or one in a product with infinity."""
    if len(node.operands) != 2:
        return None
    for one, other in (node.operands, node.operands[::-1]):
        if _is_infinite(one) and isinstance(other, Data) and _is_mask(facts, other.node):
            return other.node
    return None


def _is_infinite(value: Value) -> bool:
    if isinstance(value, Data) and value.node.operation == "-x" and value.node.operands:
        return _is_infinite(value.node.operands[0])
    if isinstance(value, External):
        return value.name in INFINITY
    number = value.value if isinstance(value, Constant) else None
    return isinstance(number, float) and math.isinf(number)


def _is_mask(facts: SourceFacts, node: Node) -> bool:
    """Whether something is made of numbers 0 and 1: `1 - mask`, or a mask as floats.

    Of truth values themselves JAX's compiler makes a choice, which is right.
    """
    while node.operation.rpartition(".")[2] in _KEEPING and node.inputs:
        node = node.inputs[0]
    if node.operation == "-" and len(node.operands) == 2:
        first, second = node.operands
        is_one = isinstance(first, Constant) and first.value == 1
        return is_one and isinstance(second, Data) and mask_name(facts, second.node) != ""
    if node.operation.rpartition(".")[2] != "astype" or not node.inputs:
        return False
    source = node.inputs[0]
    return source.dtype is not None and source.dtype.startswith("bool") and node.dtype != "bool"


RULE = Rule(
    code="DF207",
    name="zero-times-infinity",
    title="A mask is multiplied by infinity",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
`(1 - mask) * -jnp.inf` is meant to be minus infinity where something is masked, and 0 elsewhere.
Elsewhere it is 0 times infinity, which is nan, and all that it is added to becomes nan too.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(logits, lengths):
    mask = jnp.arange(logits.shape[-1]) < lengths[:, None]
    return jax.nn.softmax(logits + (1 - mask) * -jnp.inf)

def inputs():
    return jnp.ones((2, 3)), jnp.array([2, 3])
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(logits, lengths):
    mask = jnp.arange(logits.shape[-1]) < lengths[:, None]
    return jax.nn.softmax(jnp.where(mask, logits, -jnp.inf))

def inputs():
    return jnp.ones((2, 3)), jnp.array([2, 3])
""",
    source=check_source,
)
