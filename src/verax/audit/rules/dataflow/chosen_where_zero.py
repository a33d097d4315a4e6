"""A choice of a value exactly where that was set to zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.operations import CASTS, SELECTIONS
from ...source.queries.episodes.negation import without_shape
from ...source.values import Constant, Data
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.values import Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Choices by a flag of which one side is zero wherever it is taken."""
    for call in facts.calls(SELECTIONS):
        if len(call.args) != 3 or call.frame.module is not facts.module:
            continue
        flag, *sides = call.args
        if not isinstance(flag, Data):
            continue
        for side, is_set in zip(sides, (True, False), strict=True):
            zeroed = _zeroed(side, flag.node, is_set)
            if zeroed is None:
                continue
            name, when = facts.name_of(flag), "set" if is_set else "not set"
            yield RULE.finding(
                call.place,
                current=f"where `{name}` is {when} this takes a value that was multiplied by zero "
                "there, so that it is always zero",
                expected="what is chosen has not been set to zero where it is chosen",
                fix="choose the value from before it was masked",
                evidence=(Evidence("it is masked here", zeroed.place),),
                engine=Engine.SOURCE,
            )


def _zeroed(value: Value, flag: Node, is_set: bool) -> Node | None:
    """The product by which a value is zero where a flag is set, or where it is not."""
    if not isinstance(value, Data) or value.node.operation != "*":
        return None
    for factor in value.node.operands:
        mask = _mask(factor)
        if mask is not None and mask[0] is _plain(flag) and mask[1] is not is_set:
            return value.node
    return None


def _mask(factor: Value) -> tuple[Node, bool] | None:
    """The flag that a factor is made of, and whether the factor is one where that is set."""
    if not isinstance(factor, Data):
        return None
    node, keeps = _plain(factor.node), True
    if node.operation == "~x" and node.inputs:
        node, keeps = _plain(node.inputs[0]), False
    elif node.operation == "-" and len(node.operands) == 2:
        one, flag = node.operands
        if not isinstance(one, Constant) or one.value != 1 or not isinstance(flag, Data):
            return None
        node, keeps = _plain(flag.node), False
    return node, keeps


def _plain(node: Node) -> Node:
    """A flag without its type, and without axes that it was given."""
    node = without_shape(node)
    while node.operation in CASTS and node.inputs:
        node = without_shape(node.inputs[0])
    return node


RULE = Rule(
    code="DF123",
    name="chosen-where-zero",
    title="A value is chosen where it was set to zero",
    family="dataflow",
    severity=Severity.CRITICAL,
    explanation="""\
`jnp.where(done, total * (1 - done), last)` takes the total where `done` is set, and there the total
has just become zero. It happens where a running sum is set back before it is written down.

Reported for a choice by a flag between values of which one is a product with the same flag, or its
complement, that is zero on the side on which it is chosen.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(rewards, done):
    def step(carry, now):
        total, last = carry
        reward, done = now
        total = (total + reward) * (1 - done)
        last = jnp.where(done, total, last)
        return (total, last), last

    return jax.lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), (rewards, done))


def inputs():
    return jnp.ones((5, 3)), jnp.zeros((5, 3), bool).at[2].set(True)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(rewards, done):
    def step(carry, now):
        total, last = carry
        reward, done = now
        total = total + reward
        last = jnp.where(done, total, last)
        return (total * (1 - done), last), last

    return jax.lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), (rewards, done))


def inputs():
    return jnp.ones((5, 3)), jnp.zeros((5, 3), bool).at[2].set(True)
""",
    source=check_source,
)
